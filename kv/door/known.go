package door

import (
	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Reading is a text that a scanner has read, and the ticket that it names.
type Reading struct {
	Code   string
	Ticket record.ID
}

// Known returns those of some texts that name a ticket of an event, as a scan finds it. It decides and writes nothing: a picture may show a ticket and
// other codes. It returns ErrNotFound if the event is not the principal's, and a *Forbidden.
func (dk *Desk) Known(p auth.Principal, event int64, texts []string) (known []Reading, err error) {
	if err := p.Check(record.Checkin.Resource, "POST"); err != nil {
		return nil, err
	}
	var ready []*attempt
	for _, text := range texts {
		ready = append(ready, dk.Ready(p, Attempt{Event: event, Code: text}))
	}
	err = dk.tables.View(func(v *table.View) error {
		if _, err := entry.Find(v, p, record.Event, record.Int(event)); err != nil {
			return err
		}
		known = nil
		for _, a := range ready {
			ticket, err := ticketOf(v, a)
			if err != nil {
				return err
			}
			if ticket != nil {
				known = append(known, Reading{a.Code, ticket.ID})
			}
		}
		return nil
	})
	return known, err
}
