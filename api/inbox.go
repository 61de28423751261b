package api

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/query"
	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/inbox"
	"doorward/kv/record"
	"doorward/kv/value"
)

// pile is a list of items that staff decide: the conflicts or the refusals.
type pile struct {
	kind    *record.Kind
	path    string
	filters []query.Filter
	form    *record.Kind // the body of a decision
	text    string       // the description of a decision in the OpenAPI document
	choice  func(*record.Patch) inbox.Choice
}

// The two lists.
var (
	conflicts = &pile{kind: record.Conflict, path: "/admin/v1/conflicts/", form: conflictForm, choice: conflictChoice,
		text:    "keep chooses one of the two values; value gives a third one in their place.",
		filters: query.By(query.ByText, "kind", "record_id")}
	refusals = &pile{kind: record.Refusal, path: "/admin/v1/refusals/", form: refusalForm, choice: refusalChoice,
		text:    "With apply the document is taken; otherwise it is dropped from the list.",
		filters: query.By(query.ByText, "db")}
)

// conflictForm is the decision on a conflict: one of keep and value.
var conflictForm = record.Form("conflict_choice",
	record.Field{Name: "keep", Type: record.Choice{"winner", "other"}},
	record.Field{Name: "value", Type: record.Anything{}, Flags: record.Null},
)

// refusalForm is the decision on a refusal: whether the document is applied.
var refusalForm = record.Form("refusal_choice", record.Field{Name: "apply", Type: record.Bool{}, Flags: record.Required})

// routes lists the routes of the list.
func (b *pile) routes() []route {
	admin, reply, query, word := needs{resource: "admin"}, "admin_"+b.kind.Name, parametersOf(b.filters), nounOf(b.kind)
	const tag = "conflicts and refusals"
	return []route{
		{http.MethodGet, b.path, admin, b.list, operation{
			id: identifier("list open " + word.many), tag: tag, summary: "List the " + word.many + " that staff have to decide", status: 200,
			reply: reply, list: true, query: query}},
		{http.MethodGet, b.path + "{id}/", admin, b.retrieve, operation{
			id: identifier("retrieve open " + word.one), tag: tag, summary: "Retrieve " + word.a() + " that staff have to decide", status: 200,
			reply: reply}},
		{http.MethodPost, b.path + "{id}/resolve/", admin, b.decide, operation{
			id: identifier("resolve " + word.one), tag: tag, summary: "Decide " + word.a(), text: b.text, form: b.form, status: 204}},
	}
}

// list answers GET of the list.
func (b *pile) list(x *exchange) error {
	l := x.listing()
	where, faults := l.where(b.filters)
	page, err := x.store().Inbox.List(x.caller, inbox.Query{Kind: b.kind, Where: where, Offset: l.Offset, Limit: l.Limit})
	if err = bothFaults(faults, err); err != nil {
		return err
	}
	dst := append(l.appendHead(x.buffer, page.Count), '[')
	for i, r := range page.Replies {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, r.JSON...)
	}
	x.buffer = append(dst, ']', '}')
	return x.reply(http.StatusOK, x.buffer)
}

// about reads the item in the path. It returns ErrNotFound if the caller does not see it.
func (b *pile) about(x *exchange) (entry.Reply, error) {
	id, err := x.pathID(b.kind)
	if err != nil {
		return entry.Reply{}, err
	}
	return x.store().Inbox.Find(x.caller, inbox.Item{Kind: b.kind, ID: id})
}

// retrieve answers GET of one item.
func (b *pile) retrieve(x *exchange) error {
	r, err := b.about(x)
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, r.JSON)
}

// decide answers POST of a decision. A missing item goes before a fault in the body.
func (b *pile) decide(x *exchange) error {
	id, err := x.pathID(b.kind)
	if err != nil {
		return err
	}
	item := inbox.Item{Kind: b.kind, ID: id}
	if err := x.store().Inbox.MayResolve(x.caller, item); err != nil {
		return err
	}
	form, _, err := readForm(x, b.form)
	if err != nil {
		return err
	}
	c := b.choice(form)
	if err := sound(form); err != nil {
		return err
	}
	if err := x.store().Inbox.Resolve(x.caller, item, c); err != nil {
		return err
	}
	return x.done()
}

// conflictChoice reads the form of a conflict. It adds a fault unless the form has one of keep and value.
func conflictChoice(form *record.Patch) inbox.Choice {
	keep, chosen := form.Value("keep")
	chosen = chosen && keep.Kind() == jsontext.KindString
	given, isGiven := form.Value("value")
	if chosen == isGiven && len(form.Faults) == 0 {
		form.Faults.Add("keep", "One of keep and value is wanted.")
	}
	c := inbox.Choice{Other: chosen && value.Unquote(keep) == "other"}
	if isGiven {
		c.Value = append(jsontext.Value{}, given...)
	}
	return c
}

// refusalChoice reads the form of a refusal. It adds a fault if the form does not say whether to apply the document.
func refusalChoice(form *record.Patch) inbox.Choice {
	apply, given := form.Value("apply")
	if given = given && apply.Kind() != jsontext.KindNull; !given && len(form.Faults) == 0 {
		form.Faults.Add("apply", fault.Required)
	}
	return inbox.Choice{Other: string(apply) == "true"}
}
