package kv

import (
	"bytes"

	"doorward/kv/record"
)

// foresight is the event and the ticket of an attempt as a View showed them while the writer was still busy with the commit
// before: reading that would otherwise be done while everybody waits. Nothing is decided by it. It stands for what the
// operation would read itself as long as nothing but facts has been written since.
type foresight struct {
	tx            int // the View's transaction
	event, ticket *stored
}

// foresee looks up what an attempt is about; nothing where it is not found at once.
func (s *Store) foresee(a *attempt) (seen foresight) {
	err := s.glance(func(v *sight) error {
		event, err := find(v, a.p, record.Event, record.Int(a.Event))
		if err != nil {
			return err
		}
		ticket, err := ticketOf(v, a)
		if err != nil || ticket == nil {
			return err
		}
		seen = foresight{tx: v.lists.tx, event: event.kept(), ticket: ticket.kept()}
		return nil
	})
	if err != nil {
		return foresight{} // the operation will meet it, too
	}
	return seen
}

// kept is the record on memory of its own.
func (st *stored) kept() *stored {
	own := *st
	own.body = record.Body{Shown: bytes.Clone(st.body.Shown), Hidden: bytes.Clone(st.body.Hidden)}
	return &own
}

// about finds the event and the ticket of an attempt; a nil ticket where the event has none that its code means.
func about(o *op, a *attempt) (event, ticket *stored, err error) {
	if a.seen.ticket != nil && a.seen.tx >= o.store.commits.lastEdit && !o.group.edited {
		return a.seen.event, a.seen.ticket, nil
	}
	if event, err = find(o.sight, a.p, record.Event, record.Int(a.Event)); err != nil {
		return nil, nil, err
	}
	ticket, err = ticketOf(o.sight, a)
	return event, ticket, err
}
