package door

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/search"
	"doorward/kv/table"
	"doorward/kv/value"
)

// maxTicketHits is how many tickets a door is shown.
const maxTicketHits = 20

// TicketHit is what a door may know of a ticket that it has searched for.
type TicketHit struct {
	Ticket     record.ID
	Label      string
	Type       string
	Order      string
	State      string    // as record.Ticket has it
	PhoneTail  string    // the phone's last digits; "" where this node has none
	AdmittedAt time.Time // zero = not admitted, on the list that the event admits to now
	CheckinID  string    // of that admission
	Notice     string    // what the event has doors say of the ticket's type
}

// FindTickets searches an event's tickets by label and, where the node has them, by their holders' names and last phone digits:
// the best twenty, the best first, then by id. f is asked where to look; nil = everywhere. *Forbidden, ErrNotFound where the
// event is not the principal's, ErrIndexing.
func (dk *Desk) FindTickets(p auth.Principal, event int64, r *search.Ranked, f desk.Finder) (hits []TicketHit, err error) {
	if err := p.Check(record.Checkin.Resource, "GET"); err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		if err := entry.Visible(dk.tables, p, record.Event, record.Int(event)); err != nil {
			return nil, err
		}
		var parts []*desk.Asked
		for _, k := range searchedParts {
			a := &desk.Asked{Want: desk.Wanted{Kind: k, Homes: []int64{event}, Ranked: r}, Since: math.MaxUint64}
			dk.search.Find(f, a, maxTicketHits, try)
			parts = append(parts, a)
		}
		err = dk.tables.View(func(v *table.View) error {
			v.Reader = p
			hits, err = findTickets(v, p, event, parts)
			return err
		})
		if errors.Is(err, desk.ErrIndexAhead) {
			dk.search.Doubt(err)
		}
		if !errors.Is(err, desk.ErrAskAgain) {
			dk.tables.NoteReads(p, record.Ticket, len(hits))
			return hits, err
		}
	}
}

// searchedParts are the parts of a ticket that doors search.
var searchedParts = [...]*record.Kind{record.HolderName, record.Ticket}

// findTickets finds an event's tickets among what a Finder has named of each part: a ticket is as good as its better one.
func findTickets(v *table.View, p auth.Principal, event int64, parts []*desk.Asked) ([]TicketHit, error) {
	ev, err := entry.Find(v, p, record.Event, record.Int(event))
	if err != nil {
		return nil, err
	}
	var all []desk.Hit
	for _, a := range parts {
		hits, err := ticketHits(v, event, a)
		if err != nil {
			return nil, err
		}
		all = append(all, hits...)
	}
	slices.SortFunc(all, func(a, b desk.Hit) int { return cmp.Or(a.Id.Compare(b.Id), cmp.Compare(a.Cost, b.Cost)) })
	all = desk.Best(slices.CompactFunc(all, func(a, b desk.Hit) bool { return a.Id == b.Id }), maxTicketHits)
	out := make([]TicketHit, 0, len(all))
	for _, h := range all {
		t, err := ticketHit(v, ev, h.Id)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// ticketHits are the best tickets by one of their parts.
func ticketHits(v *table.View, event int64, a *desk.Asked) ([]desk.Hit, error) {
	k := a.Want.Kind
	m := &desk.Matches{Kind: k, Lists: []*table.IdList{v.Lists.Kind(k).Home.Of(event)}}
	if err := desk.Narrow(v, a, desk.Scope{Homes: a.Want.Homes}, m); err != nil {
		return nil, err
	}
	if a.TooMany(m.Count()) {
		return nil, desk.ErrIndexing
	}
	tickets := v.Lists.Kind(record.Ticket).Home.Of(event)
	ids := slices.DeleteFunc(m.Everything(), func(id record.ID) bool { return !tickets.Contains(id) })
	return desk.Hits(v, k, ids, a.Want.Ranked, a)
}

// ticketHit describes a ticket to a door.
func ticketHit(v *table.View, event *table.Stored, id record.ID) (TicketHit, error) {
	ticket, err := v.Load(record.Ticket, id)
	if err != nil {
		return TicketHit{}, err
	}
	t := TicketHit{Ticket: id, Label: value.Unquote(ticket.Body.Member("label")), Type: value.Unquote(ticket.Body.Member("type")),
		Order: value.Unquote(ticket.Body.Member("order")), State: value.Unquote(ticket.Body.Member("state"))}
	t.Notice = noticeFor(event.Body.Member("notices"), value.Unquote(ticket.Body.Member("type")))
	name, err := v.Load(record.HolderName, id)
	if err != nil {
		return TicketHit{}, err
	}
	if name != nil {
		t.PhoneTail = value.Unquote(name.Body.Member("phone_tail"))
	}
	first, err := firstAdmission(v, event.Id.Int(), table.HashOf(ticket.Body.Member("code_hash")), id.Int(), listOf(v, event))
	if err == nil && first != nil {
		t.AdmittedAt, _ = table.TimeOf(first.Body.Member("at")) // written by admit
		t.CheckinID = record.Checkin.FormatID(first.Id)
	}
	return t, err
}
