package merge

import (
	"bytes"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/ticket"
	"doorward/kv/value"
)

// updateParts updates the other records of a ticket after one of them has arrived. Only the root derives fields and ends
// holdings by a merge.
func updateParts(o *table.Tx, ad *Adoption) error {
	switch {
	case ad.Kind == record.Ticket:
		return updateTicketParts(o, ad)
	case o.Store.Identity.IsLeaf() || ad.is == nil:
		return nil
	case ad.Kind.OfTicket():
		if err := flagTakenOver(o, ad); err != nil {
			return err
		}
		if ad.Kind != record.TicketCode {
			return deriveFields(o, ad)
		}
		if ad.mixed {
			return matchCode(o, ad.ID)
		}
	case ad.Kind == record.HolderLabel: // labels are derived here, also one that arrives
		t, err := o.Load(record.Ticket, record.Int(ad.is.Int("ticket_id")))
		if err != nil {
			return err
		}
		return ticket.PlaceHolding(o, ad.ID, t != nil && entry.PresentOf(t.Body) == ad.ID)
	}
	return nil
}

// flagTakenOver flags a ticket that an event laptop has sold, if another node has now changed a record of it.
func flagTakenOver(o *table.Tx, ad *Adoption) error {
	if ad.Was == nil || ad.Guest != (ulid.ULID{}) {
		return nil
	}
	st, err := o.Load(record.Ticket, entry.TicketOfPart(ad.Kind, ad.ID, ad.next.Body))
	if err != nil || st == nil {
		return err
	}
	if taken, err := ticket.IsTakenOver(o, st, ad.Node.Node); err != nil || !taken {
		return err
	}
	_, err = entry.Amend(o, auth.Principal{}, record.Ticket, st, func(d *record.Doc) { d.Set("taken_over", []byte("true")) })
	return err
}

// updateTicketParts updates the holdings and the code of a ticket that has arrived.
func updateTicketParts(o *table.Tx, ad *Adoption) error {
	if ad.is == nil {
		if o.Store.Identity.IsLeaf() || ad.Was == nil || table.MergedIn(&ad.Tree) != 0 {
			return nil
		}
		return ticket.DeleteParts(o, ad.ID, ad.Was, 0)
	}
	st, is, err := o.LoadDoc(record.Ticket, ad.ID)
	if err != nil || st == nil {
		return err // it was merged into another ticket
	}
	if !o.Store.Identity.IsLeaf() {
		if is, err = DropErased(o, st, is); err != nil {
			return err
		}
		if ad.mixed {
			if err := matchCode(o, ad.ID); err != nil {
				return err
			}
		}
	}
	return ticket.PlaceHoldings(o, ad.Was, is)
}

// deriveFields writes the phone's last digits and the label of a holding after its name or its holder record has arrived. An event laptop
// derives the digits of the names that it brings. The root leaves them: a record that the root changes is one that the laptop cannot
// change again.
func deriveFields(o *table.Tx, ad *Adoption) error {
	st, err := o.Load(ad.Kind, ad.ID)
	if err != nil || st == nil {
		return err
	}
	of, err := o.Load(record.Ticket, entry.TicketOfPart(ad.Kind, ad.ID, st.Body))
	if err != nil || of == nil {
		return err
	}
	if ad.mixed || ad.Guest == (ulid.ULID{}) {
		if err := deriveTail(o, ad); err != nil {
			return err
		}
	}
	if entry.PresentOf(of.Body) != ad.ID {
		return nil
	}
	return ticket.WriteLabel(o, ad.ID, 0)
}

// deriveTail writes the last digits of the phone to the name record. A name that arrives has the digits of its writer. If these
// are of no phone that is known here, the holder record with that phone arrives later.
func deriveTail(o *table.Tx, ad *Adoption) error {
	h, err := entry.LoadHolding(o.View, ad.ID)
	if err != nil || h.Name == nil || h.Holder == nil {
		return err
	}
	due := ad.mixed || ad.Kind == record.Holder
	if !due {
		if due, err = hadTail(o, &h); err != nil {
			return err
		}
	}
	if !due {
		return nil
	}
	return ticket.WriteTail(o, &h)
}

// hadTail tells whether the name record has the last digits of a phone of an older or losing revision.
func hadTail(o *table.Tx, h *entry.HoldingParts) (bool, error) {
	t, err := table.LoadTree(o.View, record.Holder, h.Holder)
	if err != nil {
		return false, err
	}
	tail := value.Unquote(h.Name.Body.Member("phone_tail"))
	for _, n := range t.Nodes() {
		d, err := table.DocOf(o.View, record.Holder, h.Holder, n.Revision)
		if err != nil {
			return false, err
		}
		if d != nil && n.Revision != h.Holder.Revision && names.PhoneTail(d.Text("phone")) == tail {
			return true, nil
		}
	}
	return false, nil
}

// matchCode makes the code record match the ticket's code hash, after a merge of either.
func matchCode(o *table.Tx, ticket record.ID) error {
	t, err := o.Load(record.Ticket, ticket)
	if err != nil || t == nil {
		return err
	}
	st, was, err := o.LoadDoc(record.TicketCode, ticket)
	if err != nil || st == nil {
		return err
	}
	admits := func(d *record.Doc) bool {
		hash := o.Store.Identity.HashCode(d.Text("code"))
		return bytes.Equal(table.HexText(hash[:]), t.Body.Member("code_hash"))
	}
	if admits(was) {
		return nil
	}
	tree, err := table.LoadTree(o.View, record.TicketCode, st)
	if err != nil {
		return err
	}
	for _, n := range tree.Nodes() {
		is, err := table.DocOf(o.View, record.TicketCode, st, n.Revision)
		if err != nil {
			return err
		}
		if is != nil && admits(is) {
			return replaceCode(o, st, was, is)
		}
	}
	return nil // the code record arrives later
}

// replaceCode replaces the code in the code record. The conflict then lists the old code.
func replaceCode(o *table.Tx, st *table.Stored, was, is *record.Doc) error {
	next := was.Clone()
	next.Set("code", is.Value("code"))
	if _, err := o.Write(table.Edit{Kind: record.TicketCode, ID: st.ID, Before: st, Was: was, Is: next}); err != nil {
		return err
	}
	ids, err := o.Lookup(record.Conflict, "record_id", record.TicketCode.FormatID(st.ID))
	if err != nil {
		return err
	}
	for _, id := range ids {
		listed, d, err := o.LoadDoc(record.Conflict, id)
		if err != nil || listed == nil {
			return err
		}
		if d.Text("kind") != record.TicketCode.Name || !value.Equal(d.Value("other"), next.Value("code")) {
			continue
		}
		swapped := d.Clone()
		swapped.Set("winner", next.Value("code"))
		swapped.Set("other", was.Value("code"))
		_, err = o.Write(table.Edit{Kind: record.Conflict, ID: id, Before: listed, Was: d, Is: swapped})
		return err
	}
	t, err := table.LoadTree(o.View, record.TicketCode, st)
	if err != nil {
		return err
	}
	return listConflict(o, record.TicketCode, st.ID, record.Clash{Field: "code", Winner: next.Value("code"), Other: was.Value("code")}, t.Find(st.Revision).Node)
}
