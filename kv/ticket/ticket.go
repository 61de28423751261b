package ticket

import (
	"bytes"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/table"
)

// CreateTicket makes a ticket's three records; used tells that tombstones may lie under the id.
func CreateTicket(o *table.Tx, p auth.Principal, id record.ID, used bool, in *entry.Input) (*table.Stored, error) {
	var ticket *table.Stored
	for i, k := range ledger.TicketParts {
		n := entry.NewRecord{Id: id, Made: in.Made[i], Free: in.Free}
		if used {
			var err error
			if n.Tombstone, err = o.LoadAny(k, id); err != nil {
				return nil, err
			}
		}
		st, err := entry.Add(o, p, k, n)
		if err != nil {
			return nil, err
		}
		if k == record.Ticket {
			ticket = st
		}
	}
	return ticket, nil
}

// UpdateTicket changes a ticket's records. One that was used stays at the event where it was.
func UpdateTicket(o *table.Tx, p auth.Principal, ticket *table.Stored, in *entry.Input) (*table.Stored, error) {
	if err := holdsAllOf(o, ticket, in); err != nil {
		return nil, err
	}
	if v, ok := in.Value("event_id"); ok && table.IntOf(v) != ticket.Home(record.Ticket) {
		if err := entry.Unreferred(o, p, record.Ticket, ticket.Id); err != nil {
			return nil, err
		}
	}
	for i, k := range ledger.TicketParts {
		before, err := o.Load(k, ticket.Id)
		if err != nil {
			return nil, err
		}
		if before == nil {
			if err := supply(o, p, k, ticket, in.Parts[i]); err != nil {
				return nil, err
			}
			continue
		}
		next, err := entry.Amend(o, p, k, before, func(d *record.Doc) { d.Apply(in.Parts[i]) })
		if err != nil {
			return nil, err
		}
		if k != record.Ticket {
			continue
		}
		was := ticket.Body.Member("state")
		if ticket = next; !bytes.Equal(was, next.Body.Member("state")) {
			if err := o.Store.Rules.Settled(o, ticket.Id); err != nil {
				return nil, err
			}
		}
	}
	return ticket, nil
}

func DeleteTicket(o *table.Tx, p auth.Principal, ticket *table.Stored) error {
	for _, k := range ledger.TicketParts {
		before, err := o.Load(k, ticket.Id)
		if err != nil {
			return err
		}
		if before == nil {
			if o.Store.IsLeaf() {
				return errElsewhere
			}
			continue
		}
		was, err := before.Decode(k)
		if err != nil {
			return err
		}
		if _, err := o.Write(table.Edit{Kind: k, Id: ticket.Id, Before: before, Was: was, Author: p.Key()}); err != nil {
			return err
		}
	}
	return o.Store.Rules.Settled(o, ticket.Id) // tickets that were merged with it may have been used
}
