package door

import (
	"cmp"
	"slices"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// The bounds of an order at a door: how many tickets are shown, and how many rows of the order are looked at.
const (
	maxFamily     = 20
	maxFamilyRows = 200
)

// Family returns the other tickets of the order of a check-in's ticket, those that are not in first, at most twenty. Only a caller that has a
// check-in of the order can ask: an order's name can be guessed, a check-in's id cannot. It returns *Forbidden, and ErrNotFound if the
// event is not the principal's or has no such check-in.
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
			return keys.OrNotFound(err)
		}
		hits, err = orderMates(v, ev, record.Int(table.IntOf(st.Body.Member("ticket_id"))))
		return err
	})
	dk.tables.NoteReads(p, record.Ticket, len(hits))
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
	for _, id := range ids {
		if id == of || !tickets.Contains(id) {
			continue
		}
		mate, err := v.Load(record.Ticket, id)
		if err != nil {
			return nil, err
		}
		if mate == nil {
			continue
		}
		hit, err := hitOf(v, event, mate)
		if err != nil {
			return nil, err
		}
		hits = append(hits, *hit)
	}
	slices.SortStableFunc(hits, func(a, b TicketHit) int {
		return cmp.Compare(table.Flag(!a.AdmittedAt.IsZero()), table.Flag(!b.AdmittedAt.IsZero()))
	})
	return hits[:min(len(hits), maxFamily)], nil
}

// orderTickets are the first tickets of an order, by id.
func orderTickets(v *table.View, order string) (ids []record.ID, err error) {
	prefix := table.AppendValue(table.LookupPrefix(nil, record.Ticket, "order"), order)
	err = v.Scan(table.LookupBucket, prefix, nil, func(key, _ []byte) (bool, error) {
		id, ok := record.Ticket.KeyID(key[len(key)-record.Ticket.IDSize():])
		if !ok {
			return false, engine.ErrCorrupt
		}
		ids = append(ids, id)
		return len(ids) < maxFamilyRows, nil
	})
	return ids, err
}
