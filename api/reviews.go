package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv"
	"doorward/kv/value"
)

// reviewView is a fact that staff have to review: what a revoked laptop has brought, or what was written while the machine's clock
// was doubted.
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
var reviewFilters = []filter{{"event_id", "event_id", byID}, {"flag", "flags", byText}}

// listReviews answers GET /admin/v1/reviews/.
func listReviews(x *exchange) error {
	l := x.listing()
	where, faults := readFilters(reviewFilters, l.query, x.store().Zone())
	page, err := x.store().Reviews(x.caller, kv.ReviewQuery{Where: where, Offset: l.offset, Limit: l.limit})
	if err = bothFaults(faults, err); err != nil {
		return err
	}
	views := make([]reviewView, len(page.Facts))
	for i := range page.Facts {
		views[i] = viewReview(&page.Facts[i])
	}
	return l.replyWith(views, page.Count)
}

func viewReview(r *kv.Review) reviewView {
	return reviewView{
		Kind: r.Kind.Name, ID: r.Kind.FormatID(r.ID), EventID: r.Event, TicketID: orNullID(r.Ticket), Label: orNull(r.Label), Type: orNull(r.Type),
		Order: orNull(r.Order), Door: orNull(r.Door), At: value.Time(r.At), Offset: r.Offset, Flags: append([]string{}, r.Flags...),
		Outcome: orNull(r.Outcome), CheckinID: orNull(r.Checkin), Node: orNull(r.Node), KeyID: orNullID(r.Key),
	}
}
