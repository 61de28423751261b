package api

import (
	"cmp"
	"errors"
	"net/http"
	"slices"

	"doorward/api/nullable"
	"doorward/api/query"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/fault"
	"doorward/kv/inbox"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"

	"github.com/go-json-experiment/json/jsontext"
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
		{http.MethodGet, b.path + "{id}/", admin, withID(b.kind, b.retrieve), operation{
			id: identifier("retrieve open " + word.one), tag: tag, summary: "Retrieve " + word.a() + " that staff have to decide", status: 200,
			reply: reply}},
		{http.MethodPost, b.path + "{id}/resolve/", admin, withID(b.kind, b.decide), operation{
			id: identifier("resolve " + word.one), tag: tag, summary: "Decide " + word.a(), text: b.text, form: b.form, status: 204,
			headers: onceHeaders, reads: []string{"Idempotency-Key"}}},
	}
}

// list answers GET of the list.
func (b *pile) list(x *exchange) error {
	l := x.listing(b.filters)
	page, err := x.store().Inbox.List(x.caller, b.kind, l.Part)
	if err = bothFaults(l.faults, err); err != nil {
		return err
	}
	dst := append(l.appendHead(x.buffer, page.Count), '[')
	for _, r := range page.Items {
		dst = append(value.AppendComma(dst), r.JSON...)
	}
	x.buffer = append(dst, ']', '}')
	return x.reply(http.StatusOK, x.buffer)
}

// retrieve answers GET of one item.
func (b *pile) retrieve(x *exchange, id record.ID) error {
	r, err := x.store().Inbox.Find(x.caller, inbox.Item{Kind: b.kind, ID: id})
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, r.JSON)
}

// decide answers POST of a decision. A missing item goes before a fault in the body; with an Idempotency-Key it may be one that was decided before.
func (b *pile) decide(x *exchange, id record.ID) error {
	item := inbox.Item{Kind: b.kind, ID: id}
	missing := x.store().Inbox.MayResolve(x.caller, item)
	if missing != nil && (!errors.Is(missing, table.ErrNotFound) || idempotencyKey(x, &fault.ByField{}) == "") {
		return missing
	}
	form, body, err := readForm(x, b.form)
	if err != nil {
		return cmp.Or(missing, err)
	}
	c := b.choice(form)
	c.Once = once(x, body, &form.Faults)
	if err := form.Faults.Err(); err != nil {
		return cmp.Or(missing, err)
	}
	replayed, err := x.store().Inbox.Resolve(x.caller, item, c)
	markReplayed(x, replayed)
	return x.done(err)
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

// doubleView is a double entry as doors see it: a check-in beyond the first of a code or a ticket, or one of a ticket that is
// cancelled. First is the admission that counts; null where this is it.
type doubleView struct {
	CheckinID  string          `json:"checkin_id"`
	EventID    int64           `json:"event_id"`
	TicketID   *int64          `json:"ticket_id"`
	Label      *string         `json:"label"`
	Type       *string         `json:"type"`
	Order      *string         `json:"order"`
	List       string          `json:"list"`
	Door       *string         `json:"door"`
	AdmittedAt jsontext.Value  `json:"admitted_at"`
	Basis      *string         `json:"basis"`
	Reason     outcome.Outcome `json:"reason"`
	First      *firstView      `json:"first"`
}

type firstView struct {
	CheckinID  string         `json:"checkin_id"`
	AdmittedAt jsontext.Value `json:"admitted_at"`
	Door       *string        `json:"door"`
}

// adminDoubleView is a double entry as staff see it. Holder is null where the key may not see it.
type adminDoubleView struct {
	doubleView `json:",inline"`
	Holder     *string `json:"holder"`
	Node       *string `json:"node"`
	KeyID      *int64  `json:"key_id"`
}

// doubleFilters are what staff narrow the list by.
var doubleFilters = query.By(query.ByID, "event_id")

// listDoubles answers GET /door/v1/event/{id}/double_entries/.
func listDoubles(x *exchange, event int64) error {
	return listFor(x, nil, doublesAt(x, event), viewDouble)
}

// listAllDoubles answers GET /admin/v1/double_entries/.
func listAllDoubles(x *exchange) error {
	return listFor(x, doubleFilters, doublesAt(x, 0), func(e *door.DoubleEntry) adminDoubleView {
		return adminDoubleView{viewDouble(e), nullable.Text(e.Holder), nullable.Text(e.Node), nullable.ID(e.Key)}
	})
}

// doublesAt reads the double entries of an event, or with 0 those that staff see.
func doublesAt(x *exchange, event int64) func(auth.Principal, desk.Part) (desk.PageOf[door.DoubleEntry], error) {
	return func(p auth.Principal, part desk.Part) (desk.PageOf[door.DoubleEntry], error) {
		return x.store().Door.DoubleEntries(p, event, part)
	}
}

func viewDouble(e *door.DoubleEntry) doubleView {
	v := doubleView{
		CheckinID: e.CheckinID, EventID: e.Event, TicketID: nullable.ID(e.Ticket), Label: nullable.Text(e.Label), Type: nullable.Text(e.Type),
		Order: nullable.Text(e.Order), List: e.List, Door: nullable.Text(e.Door), AdmittedAt: value.Time(e.At), Basis: nullable.Text(e.Basis), Reason: e.Reason,
	}
	if e.First != nil {
		v.First = &firstView{e.First.CheckinID, value.Time(e.First.AdmittedAt), nullable.Text(e.First.Door)}
	}
	return v
}

// reviewView is the wire form of a fact that staff review: a revoked laptop has brought it, or the machine's clock was doubted.
type reviewView struct {
	Kind      string         `json:"kind"`
	ID        string         `json:"id"`
	EventID   int64          `json:"event_id"`
	TicketID  *int64         `json:"ticket_id"`
	Label     *string        `json:"label"`
	Type      *string        `json:"type"`
	Order     *string        `json:"order"`
	Door      *string        `json:"door"`
	At        jsontext.Value `json:"at"`
	Offset    *int64         `json:"clock_offset_ms"`
	Flags     []string       `json:"flags"`
	Outcome   *string        `json:"outcome"`    // of a refused scan
	CheckinID *string        `json:"checkin_id"` // that an undo takes back
	Node      *string        `json:"node"`
	KeyID     *int64         `json:"key_id"`

	Verdict  *string `json:"verdict,omitzero"`   // why a guest whom a phone let in would have been refused
	CountsAs *string `json:"counts_as,omitzero"` // the check-in by which staff accepted that guest
}

// reviewFilters are what staff narrow the list by.
var reviewFilters = append(query.By(query.ByID, "event_id"), query.Filter{Name: "flag", Field: "flags", Sort: query.ByText})

// listReviews answers GET /admin/v1/reviews/.
func listReviews(x *exchange) error {
	return listFor(x, reviewFilters, x.store().Door.Reviews, viewReview)
}

func viewReview(r *door.Review) reviewView {
	return reviewView{
		Kind: r.Kind.Name, ID: r.Kind.FormatID(r.ID), EventID: r.Event, TicketID: nullable.ID(r.Ticket), Label: nullable.Text(r.Label), Type: nullable.Text(r.Type),
		Order: nullable.Text(r.Order), Door: nullable.Text(r.Door), At: value.Time(r.At), Offset: r.Offset, Flags: append([]string{}, r.Flags...),
		Outcome: nullable.Text(r.Outcome), CheckinID: nullable.Text(r.Checkin), Node: nullable.Text(r.Node), KeyID: nullable.ID(r.Key),
		Verdict: nullable.Text(string(r.Verdict)), CountsAs: nullable.Text(r.Counts),
	}
}

// acceptedView names the check-in by which a guest counts.
type acceptedView struct {
	CheckinID string `json:"checkin_id"`
}

// acceptForm is the body of an acceptance.
var acceptForm = record.Form("accept_form", record.Field{Name: "accept", Type: record.Bool{}, Flags: record.Required})

// acceptReview answers POST /admin/v1/checkin/{id}/accept/.
func acceptReview(x *exchange, id record.ID) error {
	if err := x.store().Desk.Sees(x.caller, record.Checkin, id); err != nil {
		return err
	}
	form, _, err := readForm(x, acceptForm)
	if err != nil {
		return err
	}
	if given, _ := form.Value("accept"); string(given) == "false" {
		form.Faults.Add("accept", "Only true is taken: an undo takes the check-in back.")
	}
	if err := form.Faults.Err(); err != nil {
		return err
	}
	checkin, err := x.store().Door.Accept(x.caller, id)
	if err != nil {
		return err
	}
	return x.answer(http.StatusOK, acceptedView{checkin})
}

// readsView is how many records of a kind a key has read within a minute.
type readsView struct {
	Minute  jsontext.Value `json:"minute"`
	KeyID   int64          `json:"key_id"`
	Kind    string         `json:"kind"`
	Records int64          `json:"records"`
}

var readsFilters = slices.Concat(query.By(query.ByID, "key_id"), query.By(query.ByText, "kind"), query.Spans("minute", "minute"))

// listReads answers GET /admin/v1/reads/: the latest first.
func listReads(x *exchange) error {
	return listFor(x, readsFilters, x.store().Figures.Reads, func(r *table.Reads) readsView {
		return readsView{value.Time(r.Minute), r.Key, r.Kind.Name, int64(r.Records)}
	})
}
