package api

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/nullable"
	"doorward/api/query"
	"doorward/kv/door"
	"doorward/kv/table"
	"doorward/kv/upkeep"
	"doorward/kv/value"
)

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
}

// reviewFilters are what staff narrow the list by.
var reviewFilters = append(query.By(query.ByID, "event_id"), query.Filter{Name: "flag", Field: "flags", Sort: query.ByText})

// listReviews answers GET /admin/v1/reviews/.
func listReviews(x *exchange) error {
	l := x.listing()
	where, faults := l.where(reviewFilters)
	page, err := x.store().Door.Reviews(x.caller, door.ReviewQuery{Where: where, Offset: l.Offset, Limit: l.Limit})
	if err = bothFaults(faults, err); err != nil {
		return err
	}
	return replyEach(l, page.Facts, page.Count, viewReview)
}

func viewReview(r *door.Review) reviewView {
	return reviewView{
		Kind: r.Kind.Name, ID: r.Kind.FormatID(r.ID), EventID: r.Event, TicketID: nullable.ID(r.Ticket), Label: nullable.Text(r.Label), Type: nullable.Text(r.Type),
		Order: nullable.Text(r.Order), Door: nullable.Text(r.Door), At: value.Time(r.At), Offset: r.Offset, Flags: append([]string{}, r.Flags...),
		Outcome: nullable.Text(r.Outcome), CheckinID: nullable.Text(r.Checkin), Node: nullable.Text(r.Node), KeyID: nullable.ID(r.Key),
	}
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
	l := x.listing()
	where, faults := l.where(readsFilters)
	page, err := x.store().Figures.Reads(x.caller, upkeep.ReadsQuery{Where: where, Offset: l.Offset, Limit: l.Limit})
	if err = bothFaults(faults, err); err != nil {
		return err
	}
	return replyEach(l, page.Reads, page.Count, func(r *table.Reads) readsView {
		return readsView{value.Time(r.Minute), r.Key, r.Kind.Name, int64(r.Records)}
	})
}
