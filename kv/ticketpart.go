package kv

import (
	"bytes"

	"doorward/kv/record"
)

// A store may hold a ticket without all of its three records. A laptop of an event hands the private half over and keeps it no longer,
// and one that was enrolled for labels alone the name too. The centre lacks what a laptop has not brought yet, or what it has refused.

// errElsewhere is a change of what the centre has of a ticket and this laptop has not.
var errElsewhere = refused("this laptop does not hold all of the ticket that this would change: it is to be changed at the centre")

// holdsAllOf answers a *Forbidden on a laptop that lacks what a patch would change of a ticket: written in part, the rest would be
// lost without a word.
func holdsAllOf(o *op, ticket *stored, in *input) error {
	if !o.store.isLeaf() {
		return nil
	}
	for i, k := range ticketParts {
		st, err := o.load(k, ticket.id)
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
func isTold(ticket *stored, in *input, part int) bool {
	rest := in.parts[part].Project(ticketParts[part], nil)
	if v, ok := rest.Value("event_id"); ok && intOf(v) == ticket.home(record.Ticket) {
		rest.Drop("event_id")
	}
	if in.coded && bytes.Equal(hexText(in.exact[:]), ticket.body.Member("code_hash")) {
		rest.Drop("code")
	}
	return rest.Empty()
}

// supply makes a part that a ticket lacks at the centre, of what a patch says of it; nothing where it says nothing, nor on a laptop.
func supply(o *op, p Principal, k *record.Kind, ticket *stored, patch *record.Patch) error {
	if o.store.isLeaf() {
		return nil
	}
	blank := k.NewDoc()
	blank.Set("event_id", ticket.body.Member("event_id").Clone())
	is := blank.Clone()
	is.Apply(patch)
	if len(is.Differs(blank)) == 0 {
		return nil
	}
	tombstone, err := o.loadAny(k, ticket.id)
	if err == nil {
		_, err = add(o, p, k, newRecord{id: ticket.id, tombstone: tombstone, made: finish(p, is, moment(o))})
	}
	return err
}
