package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/nullable"
	"doorward/api/query"
	"doorward/kv/door"
	"doorward/kv/fault"
	"doorward/kv/outcome"
	"doorward/kv/value"
)

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
func listDoubles(x *exchange) error {
	id, err := event(x)
	if err != nil {
		return err
	}
	return doubles(x.listing(), door.DoubleQuery{Event: id.Int()}, nil, viewDouble)
}

// listAllDoubles answers GET /admin/v1/double_entries/.
func listAllDoubles(x *exchange) error {
	l := x.listing()
	where, faults := l.where(doubleFilters)
	return doubles(l, door.DoubleQuery{Where: where}, faults, func(e *door.DoubleEntry) adminDoubleView {
		return adminDoubleView{viewDouble(e), nullable.Text(e.Holder), nullable.Text(e.Node), nullable.ID(e.Key)}
	})
}

// doubles answers with a page of double entries, unless the conditions have faults.
func doubles[V any](l listing, ask door.DoubleQuery, faults fault.ByField, view func(*door.DoubleEntry) V) error {
	ask.Offset, ask.Limit = l.Offset, l.Limit
	page, err := l.store().Door.DoubleEntries(l.caller, ask)
	if err = bothFaults(faults, err); err != nil {
		return err
	}
	return replyEach(l, page.Entries, page.Count, view)
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
