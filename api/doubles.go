package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/nullable"
	"doorward/api/query"
	"doorward/kv/door"
	"doorward/kv/table"
	"doorward/kv/value"
)

// doubleView is a double entry as doors see it: a check-in beyond the first of a code or a ticket, or one of a ticket that is
// cancelled. First is the admission that counts; null where this is it.
type doubleView struct {
	CheckinID  string         `json:"checkin_id"`
	EventID    int64          `json:"event_id"`
	TicketID   *int64         `json:"ticket_id"`
	Label      *string        `json:"label"`
	Type       *string        `json:"type"`
	Order      *string        `json:"order"`
	List       string         `json:"list"`
	Door       *string        `json:"door"`
	AdmittedAt jsontext.Value `json:"admitted_at"`
	Basis      *string        `json:"basis"`
	Reason     table.Outcome  `json:"reason"`
	First      *firstView     `json:"first"`
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
func listDoubles(x *exchange) error {
	id, err := event(x)
	if err != nil {
		return err
	}
	return doubles(x, door.DoubleQuery{Event: id.Int()}, func(e *door.DoubleEntry) any { return viewDouble(e) })
}

// listAllDoubles answers GET /admin/v1/double_entries/.
func listAllDoubles(x *exchange) error {
	where, faults := query.Conditions(doubleFilters, query.Parse(x.request.URL.RawQuery), x.store().Tables.Zone())
	if len(faults) > 0 {
		_, err := x.store().Door.DoubleEntries(x.caller, door.DoubleQuery{Where: where})
		return bothFaults(faults, err)
	}
	return doubles(x, door.DoubleQuery{Where: where}, func(e *door.DoubleEntry) any {
		return adminDoubleView{viewDouble(e), nullable.Text(e.Holder), nullable.Text(e.Node), nullable.ID(e.Key)}
	})
}

// doubles answers with a page of double entries.
func doubles(x *exchange, ask door.DoubleQuery, view func(*door.DoubleEntry) any) error {
	l := x.listing()
	ask.Offset, ask.Limit = l.Offset, l.Limit
	page, err := x.store().Door.DoubleEntries(x.caller, ask)
	if err != nil {
		return err
	}
	views := make([]any, len(page.Entries))
	for i := range page.Entries {
		views[i] = view(&page.Entries[i])
	}
	return l.replyWith(views, page.Count)
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
