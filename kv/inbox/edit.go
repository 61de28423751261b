package inbox

import (
	"slices"

	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
)

// A choice is written as a request of staff to /admin/v1 would be: with the same rights, checks and faults.

// staffForm is the kind by which staff write a record: the ticket form for each part of a ticket.
func staffForm(k *record.Kind) *record.Kind {
	if entry.WrittenAs(k) == record.Ticket {
		return record.TicketForm
	}
	return k
}

// editPart changes a record as p's request would: a part of a ticket through the ticket, unless it is of a holding that has ended.
func (r *resolution) editPart(k *record.Kind, st *table.Stored, members []byte) error {
	id := entry.TicketOfPart(k, st.ID, st.Body)
	if !k.OfHolding() {
		return r.editAs(entry.WrittenAs(k), id, members)
	}
	ticket, err := r.o.Load(record.Ticket, id)
	if err != nil {
		return err
	}
	if ticket != nil && entry.PresentOf(ticket.Body) == st.ID {
		return r.editAs(record.Ticket, id, members)
	}
	if err := r.p.CheckKind(record.Admin, record.Ticket, "PATCH"); err != nil {
		return err
	}
	if err := entry.MayChange(r.o.View, r.p, k, st); err != nil {
		return err
	}
	patch, err := record.TicketForm.Parse(append(members, '}'), record.ParseOptions{Surface: record.Admin, Zone: r.o.Store.Clock.Zone()})
	if err != nil {
		return err
	}
	in := entry.Prepare(r.o.Store, patch)
	if err := entry.CheckPatch(r.o, r.p, record.Ticket, in.Patch); err != nil {
		return err
	}
	for _, part := range [...]*record.Patch{in.Parts.Name, in.Parts.Holder} {
		if part.Kind == k {
			_, err = entry.Amend(r.o, r.p, k, st, func(d *record.Doc) { d.Apply(part) })
		}
	}
	return err
}

// editAs changes a record as p's request to /admin/v1 would. members is an object without its last brace.
func (r *resolution) editAs(k *record.Kind, id record.ID, members []byte) error {
	before, err := r.found(k, id, "PATCH")
	if err != nil {
		return err
	}
	patch, err := staffForm(k).Parse(append(members, '}'), record.ParseOptions{Surface: record.Admin, Zone: r.o.Store.Clock.Zone()})
	if err != nil {
		return err
	}
	_, err = desk.Update(r.o, r.p, k, before, entry.Prepare(r.o.Store, patch))
	return err
}

// found finds a record for a request of p's to /admin/v1 by a method.
func (r *resolution) found(k *record.Kind, id record.ID, method string) (*table.Stored, error) {
	if err := r.p.CheckKind(record.Admin, k, method); err != nil {
		return nil, err
	}
	return desk.FindForChange(r.o, r.p, desk.Target{Surface: record.Admin, Kind: k, ID: id})
}

// membersOf writes the fields of a document that staff may set, as an object without its last brace.
func membersOf(doc *record.Doc, fields []string) []byte {
	members := []byte{'{'}
	form := staffForm(doc.Kind)
	for i := range doc.Kind.Fields {
		f := &doc.Kind.Fields[i]
		name := record.FormName(doc.Kind, f.Name)
		g, known := form.Field(name)
		if known && f.Stored() && g.Settable(record.Admin) && slices.Contains(fields, f.Name) {
			members = table.AppendMember(members, name, doc.Value(f.Name))
		}
	}
	return members
}

// deleteAs deletes a record as p's request to /admin/v1 would.
func (r *resolution) deleteAs(k *record.Kind, id record.ID) error {
	before, err := r.found(k, id, "DELETE")
	if err != nil {
		return err
	}
	return desk.Remove(r.o, r.p, k, before)
}

// createAs makes a record as p's request to /admin/v1 would, under an id of its own.
func (r *resolution) createAs(k *record.Kind, doc *record.Doc) error {
	if entry.WrittenAs(k) == record.Ticket {
		return &table.Conflict{Reason: "a ticket is made as a whole, and this is a part of one"}
	}
	if err := r.p.CheckKind(record.Admin, k, "POST"); err != nil {
		return err
	}
	if err := entry.MayCreate(r.p, k); err != nil {
		return err
	}
	patch, err := k.Parse(append(membersOf(doc, doc.Differs(k.NewDoc())), '}'), record.ParseOptions{Surface: record.Admin, Create: true, Zone: r.o.Store.Clock.Zone()})
	if err != nil {
		return err
	}
	_, err = desk.Create(r.o, r.p, k, record.ID{}, entry.PrepareNew(r.o.Store, r.p, patch))
	return err
}
