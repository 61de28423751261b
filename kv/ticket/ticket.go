package ticket

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/oklog/ulid/v2"

	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/kv/value"
)

// CreateTicket makes a ticket's records; used tells that the id may have tombstones.
func CreateTicket(o *table.Tx, p auth.Principal, id record.ID, used bool, in *entry.Input) (ticket *table.Stored, err error) {
	for _, m := range [...]*table.Made{in.Made.Ticket, in.Made.Code} {
		n := entry.NewRecord{ID: id, Made: m, Free: in.Free}
		if used {
			if n.Tombstone, err = o.LoadAny(m.Doc.Kind, id); err != nil {
				return nil, err
			}
		}
		st, err := entry.Add(o, p, m.Doc.Kind, n)
		if err != nil {
			return nil, err
		}
		if ticket == nil {
			ticket = st
		}
	}
	if in.Made.Holding != nil {
		err = entry.AddHolding(o, p, id, in.Made.Holding)
	}
	return ticket, err
}

// UpdateTicket changes a ticket's records. A ticket that was used stays at its event.
func UpdateTicket(o *table.Tx, p auth.Principal, ticket *table.Stored, in *entry.Input) (*table.Stored, error) {
	parts := in.Split()
	if err := holdsAllOf(o, ticket, in, parts); err != nil {
		return nil, err
	}
	if v, ok := in.Value("event_id"); ok && value.Int(v) != ticket.Home(record.Ticket) {
		if err := entry.Unreferred(o, p, record.Ticket, ticket.ID); err != nil {
			return nil, err
		}
	}
	was, err := ticket.Decode(record.Ticket)
	if err != nil {
		return nil, err
	}
	u := &ticketUpdate{in: in, parts: parts, p: p, id: ticket.ID, is: was.Clone(), seq: o.State.Seq}
	u.is.Apply(parts.Ticket)
	if err := u.code(o); err != nil {
		return nil, err
	}
	if err := u.holder(o); err != nil {
		return nil, err
	}
	next, err := u.ticket(o, ticket, was)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(ticket.Body.Member("state"), next.Body.Member("state")) {
		err = admission.SettleTicket(o, ticket.ID)
	}
	return next, err
}

// ticketUpdate is a change of a ticket's records.
type ticketUpdate struct {
	in    *entry.Input
	parts record.Parts // of its form
	p     auth.Principal
	id    record.ID
	is    *record.Doc // the ticket as it will be
	seq   uint64      // before the change
}

// code changes the code in clear. The root makes it if it is missing.
func (u *ticketUpdate) code(o *table.Tx) error {
	before, err := o.Load(record.TicketCode, u.id)
	if err != nil {
		return err
	}
	if before == nil {
		return supply(o, u.p, u.id, u.is, u.parts.Code)
	}
	_, err = entry.Amend(o, u.p, record.TicketCode, before, func(d *record.Doc) { d.Apply(u.parts.Code) })
	return err
}

// ticket writes the ticket itself and places its holdings. A ticket that an event's laptop has sold gets a mark when another node changes
// any of its records, because the laptop sees the ticket alone.
func (u *ticketUpdate) ticket(o *table.Tx, before *table.Stored, was *record.Doc) (next *table.Stored, err error) {
	if len(u.is.Differs(was)) == 0 && o.State.Seq != u.seq && !o.Store.Identity.IsLeaf() {
		taken, err := IsTakenOver(o, before, ulid.ULID{})
		if err != nil {
			return nil, err
		}
		if taken {
			u.is.Set("taken_over", jsontext.Value("true"))
		}
	}
	next, err = entry.Amend(o, u.p, record.Ticket, before, func(d *record.Doc) {
		for _, name := range u.is.Differs(was) {
			d.Set(name, u.is.Value(name))
		}
	})
	if err != nil {
		return nil, err
	}
	if string(was.Value("event_id")) != string(u.is.Value("event_id")) {
		if err := moveEnded(o, u.p, u.is); err != nil {
			return nil, err
		}
	}
	return next, PlaceHoldings(o, was, u.is)
}

// DeleteTicket deletes a ticket's records.
func DeleteTicket(o *table.Tx, p auth.Principal, ticket *table.Stored) error {
	d, err := ticket.Decode(record.Ticket)
	if err != nil {
		return err
	}
	code, h, err := partsHere(o, ticket)
	if err != nil {
		return err
	}
	if o.Store.Identity.IsLeaf() && (code == nil || !h.ID.IsZero() && (h.Name == nil || h.Holder == nil)) {
		return errElsewhere
	}
	if _, err := o.Write(table.Edit{Kind: record.Ticket, ID: ticket.ID, Before: ticket, Was: d, Author: p.Key()}); err != nil {
		return err
	}
	if err := DeleteParts(o, ticket.ID, d, p.Key()); err != nil {
		return err
	}
	return admission.SettleTicket(o, ticket.ID) // tickets that were merged with it may have been used
}

// partsHere loads the records of a ticket that this store has: its code, nil = it is not here, and its present holding.
func partsHere(o *table.Tx, ticket *table.Stored) (code *table.Stored, h entry.HoldingParts, err error) {
	if code, err = o.Load(record.TicketCode, ticket.ID); err == nil {
		h, err = entry.LoadHolding(o.View, entry.PresentOf(ticket.Body))
	}
	return code, h, err
}

// DeleteParts deletes a ticket's code and its holdings, as far as they are here.
func DeleteParts(o *table.Tx, ticket record.ID, d *record.Doc, author int64) error {
	if err := deletePart(o, record.TicketCode, ticket, author); err != nil {
		return err
	}
	for _, id := range entry.HoldingsOf(d) {
		for _, k := range entry.HoldingKinds {
			if err := deletePart(o, k, id, author); err != nil {
				return err
			}
		}
	}
	return nil
}

// deletePart deletes one record of a ticket, if it is here.
func deletePart(o *table.Tx, k *record.Kind, id record.ID, author int64) error {
	before, err := o.Load(k, id)
	if err != nil || before == nil {
		return err
	}
	was, err := before.Decode(k)
	if err == nil {
		_, err = o.Write(table.Edit{Kind: k, ID: id, Before: before, Was: was, Author: author})
	}
	return err
}

// holdsAllOf returns a *Forbidden on a laptop that lacks a record that a patch would change, because that part of the change would be lost.
func holdsAllOf(o *table.Tx, ticket *table.Stored, in *entry.Input, parts record.Parts) error {
	if !o.Store.Identity.IsLeaf() {
		return nil
	}
	code, h, err := partsHere(o, ticket)
	if err != nil {
		return err
	}
	recoded := in.Coded && !bytes.Equal(table.HexText(in.Exact[:]), ticket.Body.Member("code_hash"))
	v, moved := in.Value("event_id")
	moved = moved && value.Int(v) != ticket.Home(record.Ticket)
	says := func(patch *record.Patch) bool {
		rest := patch.Project(patch.Kind)
		rest.Drop("event_id")
		return moved || !rest.Empty()
	}
	lacks := code == nil && (recoded || moved)
	if !h.ID.IsZero() {
		lacks = lacks || h.Name == nil && says(parts.Name) || h.Holder == nil && says(parts.Holder)
	}
	if lacks {
		return errElsewhere
	}
	return nil
}

// errElsewhere is a change of a record that only the centre has.
var errElsewhere = table.Refused("this laptop does not hold all of the ticket that this would change: it is to be changed at the centre")

// IsTakenOver tells whether one laptop alone has made a ticket and another node changes it. The zero node is this store.
func IsTakenOver(o *table.Tx, st *table.Stored, by ulid.ULID) (bool, error) {
	t, err := table.LoadTree(o.View, record.Ticket, st)
	return err == nil && !slices.ContainsFunc(t.Nodes(), func(n rev.Node) bool {
		return n.Node == by || n.Node == (ulid.ULID{}) && (n.Held || n.Deleted || n.At != 0)
	}), err
}

// supply makes a missing record of a ticket out of a patch. It makes none on a laptop, and none if the patch sets nothing.
func supply(o *table.Tx, p auth.Principal, id record.ID, ticket *record.Doc, patch *record.Patch) error {
	if o.Store.Identity.IsLeaf() {
		return nil
	}
	blank := patch.Kind.NewDoc()
	blank.Set("event_id", ticket.Value("event_id"))
	is := blank.Clone()
	is.Apply(patch)
	if len(is.Differs(blank)) == 0 {
		return nil
	}
	tombstone, err := o.LoadAny(patch.Kind, id)
	if err == nil {
		_, err = entry.Add(o, p, patch.Kind, entry.NewRecord{ID: id, Tombstone: tombstone, Made: entry.Finish(p, is, entry.Moment(o))})
	}
	return err
}
