package kv

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"doorward/kv/record"
	"doorward/kv/search"
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
func (s *Store) FindTickets(p Principal, event int64, r *search.Ranked, f Finder) (hits []TicketHit, err error) {
	if err := p.Check(record.Checkin.Resource, "GET"); err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		if err := visible(s.tables, p, record.Event, record.Int(event)); err != nil {
			return nil, err
		}
		var parts []*asked
		for _, k := range searchedParts {
			a := &asked{want: Wanted{Kind: k, Homes: []int64{event}, Ranked: r}, since: math.MaxUint64}
			s.search.find(f, a, maxTicketHits, try)
			parts = append(parts, a)
		}
		err = s.view(func(v *sight) error {
			v.reader = p
			hits, err = findTickets(v, p, event, parts)
			return err
		})
		if errors.Is(err, errIndexAhead) {
			s.search.doubt(err)
		}
		if !errors.Is(err, errAskAgain) {
			s.noteReads(p, record.Ticket, len(hits))
			return hits, err
		}
	}
}

// searchedParts are the parts of a ticket that doors search.
var searchedParts = [...]*record.Kind{record.HolderName, record.Ticket}

// findTickets finds an event's tickets among what a Finder has named of each part: a ticket is as good as its better one.
func findTickets(v *sight, p Principal, event int64, parts []*asked) ([]TicketHit, error) {
	ev, err := find(v, p, record.Event, record.Int(event))
	if err != nil {
		return nil, err
	}
	var all []hit
	for _, a := range parts {
		hits, err := ticketHits(v, event, a)
		if err != nil {
			return nil, err
		}
		all = append(all, hits...)
	}
	slices.SortFunc(all, func(a, b hit) int { return cmp.Or(a.id.Compare(b.id), cmp.Compare(a.cost, b.cost)) })
	all = best(slices.CompactFunc(all, func(a, b hit) bool { return a.id == b.id }), maxTicketHits)
	out := make([]TicketHit, 0, len(all))
	for _, h := range all {
		t, err := ticketHit(v, ev, h.id)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// ticketHits are the best tickets by one of their parts.
func ticketHits(v *sight, event int64, a *asked) ([]hit, error) {
	k := a.want.Kind
	m := &matches{kind: k, lists: []*idList{v.lists.kind(k).home.of(event)}}
	if err := narrow(v, a, scope{homes: a.want.Homes}, m); err != nil {
		return nil, err
	}
	if a.tooMany(m.count()) {
		return nil, ErrIndexing
	}
	tickets := v.lists.kind(record.Ticket).home.of(event)
	ids := slices.DeleteFunc(m.everything(), func(id record.ID) bool { return !tickets.contains(id) })
	return hits(v, k, ids, a.want.Ranked, a)
}

// ticketHit describes a ticket to a door.
func ticketHit(v *sight, event *stored, id record.ID) (TicketHit, error) {
	ticket, err := v.load(record.Ticket, id)
	if err != nil {
		return TicketHit{}, err
	}
	t := TicketHit{Ticket: id, Label: value.Unquote(ticket.body.Member("label")), Type: value.Unquote(ticket.body.Member("type")),
		Order: value.Unquote(ticket.body.Member("order")), State: value.Unquote(ticket.body.Member("state"))}
	t.Notice = noticeFor(event.body.Member("notices"), value.Unquote(ticket.body.Member("type")))
	name, err := v.load(record.HolderName, id)
	if err != nil {
		return TicketHit{}, err
	}
	if name != nil {
		t.PhoneTail = value.Unquote(name.body.Member("phone_tail"))
	}
	first, err := firstAdmission(v, event.id.Int(), hashOf(ticket.body.Member("code_hash")), id.Int(), listOf(v, event))
	if err == nil && first != nil {
		t.AdmittedAt, _ = timeOf(first.body.Member("at")) // written by admit
		t.CheckinID = record.Checkin.FormatID(first.id)
	}
	return t, err
}
