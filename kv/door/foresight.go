package door

import (
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
)

// foresight is the event and the ticket of an attempt as a View showed them while the writer was still busy with the commit
// before: reading that would otherwise be done while everybody waits. Nothing is decided by it. It stands for what the
// operation would read itself as long as nothing but facts has been written since.
type foresight struct {
	tx            int // the View's transaction
	event, ticket *table.Stored
}

// foresee looks up what an attempt is about; nothing where it is not found at once.
func (dk *Desk) foresee(a *attempt) (seen foresight) {
	err := dk.tables.Glance(func(v *table.View) error {
		event, err := entry.Find(v, a.p, record.Event, record.Int(a.Event))
		if err != nil {
			return err
		}
		ticket, err := ticketOf(v, a)
		if err != nil || ticket == nil {
			return err
		}
		seen = foresight{tx: v.Lists.Tx, event: event.Kept(), ticket: ticket.Kept()}
		return nil
	})
	if err != nil {
		return foresight{} // the operation will meet it, too
	}
	return seen
}

// about finds the event and the ticket of an attempt; a nil ticket where the event has none that its code means.
func about(o *table.Tx, a *attempt) (event, ticket *table.Stored, err error) {
	if a.seen.ticket != nil && a.seen.tx >= o.Store.Commits.LastEdit && !o.Group.Edited {
		return a.seen.event, a.seen.ticket, nil
	}
	if event, err = entry.Find(o.View, a.p, record.Event, record.Int(a.Event)); err != nil {
		return nil, nil, err
	}
	ticket, err = ticketOf(o.View, a)
	return event, ticket, err
}
