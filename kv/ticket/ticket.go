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

// A store may hold a ticket without all of its three records. A laptop of an event hands the private half over and keeps it no longer,
// and one that was enrolled for labels alone the name too. The centre lacks what a laptop has not brought yet, or what it has refused.

// errElsewhere is a change of what the centre has of a ticket and this laptop has not.
var errElsewhere = table.Refused("this laptop does not hold all of the ticket that this would change: it is to be changed at the centre")

// holdsAllOf answers a *Forbidden on a laptop that lacks what a patch would change of a ticket: written in part, the rest would be
// lost without a word.
func holdsAllOf(o *table.Tx, ticket *table.Stored, in *entry.Input) error {
	if !o.Store.IsLeaf() {
		return nil
	}
	for i, k := range ledger.TicketParts {
		st, err := o.Load(k, ticket.Id)
		if err != nil {
			return err
		}
		if st == nil && !isTold(ticket, in, i) {
			return errElsewhere
		}
	}
	return nil
}

// isTold tells that all which a patch says of one of a ticket's parts stands in the ticket itself: its event, and by its hash its code.
func isTold(ticket *table.Stored, in *entry.Input, part int) bool {
	rest := in.Parts[part].Project(ledger.TicketParts[part], nil)
	if v, ok := rest.Value("event_id"); ok && table.IntOf(v) == ticket.Home(record.Ticket) {
		rest.Drop("event_id")
	}
	if in.Coded && bytes.Equal(table.HexText(in.Exact[:]), ticket.Body.Member("code_hash")) {
		rest.Drop("code")
	}
	return rest.Empty()
}

// supply makes a part that a ticket lacks at the centre, of what a patch says of it; nothing where it says nothing, nor on a laptop.
func supply(o *table.Tx, p auth.Principal, k *record.Kind, ticket *table.Stored, patch *record.Patch) error {
	if o.Store.IsLeaf() {
		return nil
	}
	blank := k.NewDoc()
	blank.Set("event_id", ticket.Body.Member("event_id").Clone())
	is := blank.Clone()
	is.Apply(patch)
	if len(is.Differs(blank)) == 0 {
		return nil
	}
	tombstone, err := o.LoadAny(k, ticket.Id)
	if err == nil {
		_, err = entry.Add(o, p, k, entry.NewRecord{Id: ticket.Id, Tombstone: tombstone, Made: entry.Finish(p, is, entry.Moment(o))})
	}
	return err
}
