package api

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/query"
	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/inbox"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// inbox is a list of what staff have to decide: the conflicts or the refusals.
type pile struct {
	kind    *record.Kind
	path    string
	filters []query.Filter
	form    *record.Kind // of what becomes of one
	text    string       // what the document says of that
	resolve func(*exchange, record.ID, *record.Patch) error
}

// The two lists.
var (
	conflicts = &pile{kind: record.Conflict, path: "/admin/v1/conflicts/", form: conflictForm, resolve: resolveConflict,
		text:    "keep chooses one of the two values; value gives a third one in their place.",
		filters: query.By(query.ByText, "kind", "record_id")}
	refusals = &pile{kind: record.Refusal, path: "/admin/v1/refusals/", form: refusalForm, resolve: resolveRefusal,
		text:    "With apply the document is taken; otherwise it is dropped from the list.",
		filters: query.By(query.ByText, "db")}
)

// conflictForm says what becomes of a conflict: one of keep and value.
var conflictForm = record.Form("conflict_choice",
	record.Field{Name: "keep", Type: record.Choice{"winner", "other"}},
	record.Field{Name: "value", Type: record.Anything{}, Flags: record.Null},
)

// refusalForm says whether a refused document is applied.
var refusalForm = record.Form("refusal_choice", record.Field{Name: "apply", Type: record.Bool{}, Flags: record.Required})

// routes are all about them.
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
	where, faults := query.Conditions(b.filters, l.query, x.store().Tables.Zone())
	page, err := x.store().Inbox.Matters(x.caller, inbox.MatterQuery{Kind: b.kind, Where: where, Offset: l.Offset, Limit: l.Limit})
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

// about is the one in the path: kv.ErrNotFound where the caller does not see it.
func (b *pile) about(x *exchange) (entry.Reply, error) {
	id, ok := b.kind.ParseID(x.request.PathValue("id"))
	if !ok {
		return entry.Reply{}, table.ErrNotFound
	}
	return x.store().Inbox.Matter(x.caller, b.kind, id)
}

// retrieve answers GET of one.
func (b *pile) retrieve(x *exchange) error {
	r, err := b.about(x)
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, r.JSON)
}

// decide answers POST of what becomes of one. Whether it is there is said before what is wrong with the body.
func (b *pile) decide(x *exchange) error {
	id, ok := b.kind.ParseID(x.request.PathValue("id"))
	if !ok {
		return table.ErrNotFound
	}
	if err := x.store().Inbox.SeesMatter(x.caller, b.kind, id); err != nil {
		return err
	}
	form, _, err := readForm(x, b.form)
	if err != nil {
		return err
	}
	if err := b.resolve(x, id, form); err != nil {
		return err
	}
	return x.done()
}

func resolveConflict(x *exchange, id record.ID, form *record.Patch) error {
	keep, chosen := form.Value("keep")
	chosen = chosen && keep.Kind() == jsontext.KindString
	given, isGiven := form.Value("value")
	if chosen == isGiven && len(form.Faults) == 0 {
		form.Faults.Add("keep", "One of keep and value is wanted.")
	}
	if err := sound(form); err != nil {
		return err
	}
	c := inbox.Choice{Other: value.Unquote(keep) == "other"}
	if isGiven {
		c.Value = append(jsontext.Value{}, given...)
	}
	return x.store().Inbox.ResolveConflict(x.caller, id, c)
}

func resolveRefusal(x *exchange, id record.ID, form *record.Patch) error {
	apply, given := form.Value("apply")
	if given = given && apply.Kind() != jsontext.KindNull; !given && len(form.Faults) == 0 {
		form.Faults.Add("apply", fault.Required)
	}
	if err := sound(form); err != nil {
		return err
	}
	return x.store().Inbox.ResolveRefusal(x.caller, id, string(apply) == "true")
}
