package door

import (
	"cmp"
	"math"
	"slices"
	"time"

	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/search"
	"doorward/kv/table"
	"doorward/kv/value"
)

// maxFamily is how many rows of an order are looked at, those of other events too.
const maxFamily = 1000

// Family returns the other tickets of the order of a check-in's ticket, those that are not in first. The caller names a check-in
// and not the order, because an order's name can be guessed and a check-in's id cannot. It returns a *Forbidden, and ErrNotFound if the
// event is not the principal's or does not have the check-in.
func (dk *Desk) Family(p auth.Principal, event int64, checkin string) (hits []TicketHit, err error) {
	if err := p.Check(record.Checkin.Resource, "GET"); err != nil {
		return nil, err
	}
	id, ok := record.Checkin.ParseID(checkin)
	err = dk.tables.View(func(v *table.View) error {
		v.Reader = p
		ev, err := entry.Find(v, p, record.Event, record.Int(event))
		if err != nil {
			return err
		}
		st, err := v.Load(record.Checkin, id)
		if err != nil || st == nil || !ok || st.Home(record.Checkin) != event {
			return table.OrNotFound(err)
		}
		hits, err = orderMates(v, ev, record.Int(value.Int(st.Body.Member("ticket_id"))))
		return err
	})
	dk.tables.Reads.Note(p, record.Ticket, len(hits))
	return hits, err
}

// orderMates finds the other tickets of a ticket's order.
func orderMates(v *table.View, event *table.Stored, of record.ID) (hits []TicketHit, err error) {
	ticket, err := v.Load(record.Ticket, of)
	if err != nil || ticket == nil {
		return nil, err
	}
	order := value.Unquote(ticket.Body.Member("order"))
	if order == "" {
		return nil, nil
	}
	ids, err := orderTickets(v, order)
	if err != nil {
		return nil, err
	}
	tickets := v.Lists.Kind(record.Ticket).Home.Of(event.ID.Int())
	ids = slices.DeleteFunc(ids, func(id record.ID) bool { return id == of || !tickets.Contains(id) })
	err = v.EachLive(record.Ticket, ids, func(mate *table.Stored) error {
		hit, err := hitOf(v, event, mate)
		if err == nil {
			hits = append(hits, *hit)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(hits, func(a, b TicketHit) int {
		return cmp.Compare(table.Flag(!a.AdmittedAt.IsZero()), table.Flag(!b.AdmittedAt.IsZero()))
	})
	return hits, nil
}

// orderTickets are the first tickets of an order, by id.
func orderTickets(v *table.View, order string) (ids []record.ID, err error) {
	prefix := table.AppendValue(table.LookupPrefix(nil, record.Ticket, "order"), order)
	keys, err := table.FirstKeys(v.View, table.LookupBucket, prefix, maxFamily)
	for _, key := range keys {
		id, _ := record.Ticket.KeyID(key[len(prefix):]) // nothing else follows the value
		ids = append(ids, id)
	}
	return ids, err
}

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
	Matched    []Match   // why a search found it; nil = it was not searched for
}

// Match is what of a ticket a search has found it by.
type Match string

// The matches.
const (
	ByName  Match = "name"
	ByPhone Match = "phone"
)

// matches are why a search finds a ticket of a phone's last digits.
func matches(r *search.Ranked, tail string) (by []Match) {
	phone := r.PhoneEnds(tail)
	if len(r.Words) > 0 || !phone {
		by = append(by, ByName)
	}
	if phone {
		by = append(by, ByPhone)
	}
	return by
}

// FindTickets searches an event's tickets by label and, where the node has them, by their holders' names and last phone digits:
// the best twenty, the best first, then by id. f names candidates; nil = every ticket is read. It returns a *Forbidden,
// ErrNotFound if the event is not the principal's, and ErrIndexing.
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
		if !dk.search.Again(err) {
			dk.tables.Reads.Note(p, record.Ticket, len(hits))
			return hits, err
		}
	}
}

// searchedParts are the parts of a holding that doors search.
var searchedParts = [...]*record.Kind{record.HolderName, record.HolderLabel}

// findTickets finds an event's tickets among the candidates for each part. A ticket counts by its better part.
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
	slices.SortFunc(all, desk.Hit.Compare)
	out := make([]TicketHit, 0, maxTicketHits)
	for _, h := range all {
		if len(out) == maxTicketHits {
			break
		}
		if slices.ContainsFunc(out, func(t TicketHit) bool { return t.Ticket == h.ID }) {
			continue // by its better part
		}
		t, err := ticketHit(v, ev, h)
		if err != nil {
			return nil, err
		}
		if t != nil {
			t.Matched = matches(parts[0].Want.Ranked, t.PhoneTail)
			out = append(out, *t)
		}
	}
	return out, nil
}

// ticketHits are the best tickets by one part of their present holdings. Of equal ones the lower ids are better.
func ticketHits(v *table.View, event int64, a *desk.Asked) ([]desk.Hit, error) {
	k := a.Want.Kind
	m := &desk.Matches{Kind: k, Lists: []*table.IdList{v.Lists.Kind(k).Home.Of(event)}}
	if err := desk.Narrow(v, a, desk.Scope{Homes: a.Want.Homes}, m); err != nil {
		return nil, err
	}
	if a.TooMany(m.Count()) {
		return nil, desk.ErrIndexing
	}
	return m.Hits(v, a.Want.Ranked, a, func(st *table.Stored) (desk.Hit, bool) {
		ended := st.Scopes[0].Sort == scopes.EventHolders
		return desk.Hit{ID: entry.TicketOfPart(k, st.ID, st.Body), Holding: st.ID}, !ended
	})
}

// ticketHit describes a ticket to a door. It returns nil if the holding that was found is not the present one of a ticket of the event.
func ticketHit(v *table.View, event *table.Stored, h desk.Hit) (*TicketHit, error) {
	ticket, err := v.Load(record.Ticket, h.ID)
	if err != nil || ticket == nil || ticket.Home(record.Ticket) != event.ID.Int() || entry.PresentOf(ticket.Body) != h.Holding {
		return nil, err
	}
	return hitOf(v, event, ticket)
}

// hitOf describes a ticket of an event, with its present holding.
func hitOf(v *table.View, event, ticket *table.Stored) (t *TicketHit, err error) {
	holding := entry.PresentOf(ticket.Body)
	t = &TicketHit{Ticket: ticket.ID, Type: value.Unquote(ticket.Body.Member("type")),
		Order: value.Unquote(ticket.Body.Member("order")), State: value.Unquote(ticket.Body.Member("state"))}
	t.Notice = noticeFor(event.Body.Member("notices"), t.Type)
	if t.Label, err = entry.LabelOf(v, holding); err != nil {
		return nil, err
	}
	name, err := v.Load(record.HolderName, holding)
	if err != nil {
		return nil, err
	}
	if name != nil {
		t.PhoneTail = value.Unquote(name.Body.Member("phone_tail"))
	}
	first, err := keepsOut(v, event, &admission.Checkin{Event: event.ID.Int(), Ticket: ticket.ID.Int(),
		CodeHash: table.HashOf(ticket.Body.Member("code_hash")), List: listOn(v, event, v.Now)})
	if err == nil && first != nil {
		t.AdmittedAt, _ = table.TimeOf(first.Body.Member("at")) // written by admit
		t.CheckinID = record.Checkin.FormatID(first.ID)
	}
	return t, err
}
