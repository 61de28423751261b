package inbox

import (
	"bytes"
	"slices"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/ticket"
)

// applyRefused does what a refused document would have done, as far as staff may: of an edit the fields that it changed, and no more.
// What others have changed since stays. Where nothing is held of what it was made of, these are all that differ.
func applyRefused(o *table.Tx, p auth.Principal, d *record.Doc) error {
	k, id, doc := table.ListedRecord(record.Refusal, d)
	if k == nil || doc == nil || k.Fact || k.System && !k.OfTicket() {
		return &table.Conflict{Reason: "staff do not write such records"}
	}
	if gone, err := table.IsErased(o.View, k, id); err != nil || gone {
		return keys.OrNotFound(err)
	}
	whole := d.Value("doc")
	body := record.Body{Shown: whole[1 : len(whole)-1]}
	if string(body.Member("_deleted")) == "true" {
		if k != entry.WrittenAs(k) {
			return &table.Conflict{Reason: "a ticket is deleted as a whole, and this is a part of one"}
		}
		return deleteAs(o, p, k, id)
	}
	if bytes.Equal(whole, wholeDoc(nameOf(body))) {
		return &table.Conflict{Reason: "the refusal names the document, and holds nothing of what it said"}
	}
	st, err := o.LoadAny(k, id)
	if err != nil {
		return err
	}
	switch {
	case st == nil:
		return createAs(o, p, k, doc)
	case st.Deleted:
		return &table.Conflict{Reason: "the record was deleted"}
	}
	base, err := baseOfRefused(o, k, st, body)
	if err == nil && base == nil {
		base, err = st.Decode(k)
	}
	if err != nil {
		return err
	}
	return editPart(o, p, k, st, membersOf(doc, doc.Differs(base)))
}

// membersOf are those of a document's fields that staff may set, as an object without its last brace.
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
func deleteAs(o *table.Tx, p auth.Principal, k *record.Kind, id record.ID) error {
	if err := p.CheckKind(record.Admin, k, "DELETE"); err != nil {
		return err
	}
	before, err := desk.FindForChange(o, p, desk.Target{Surface: record.Admin, Kind: k, ID: id})
	if err != nil {
		return err
	}
	if err := entry.Unreferred(o, p, k, id); err != nil {
		return err
	}
	if k == record.Ticket {
		return ticket.DeleteTicket(o, p, before)
	}
	was, err := before.Decode(k)
	if err == nil {
		_, err = o.Write(table.Edit{Kind: k, ID: id, Before: before, Was: was, Author: p.Key()})
	}
	return err
}

// createAs makes a record as p's request to /admin/v1 would, under an id of its own.
func createAs(o *table.Tx, p auth.Principal, k *record.Kind, doc *record.Doc) error {
	if entry.WrittenAs(k) == record.Ticket {
		return &table.Conflict{Reason: "a ticket is made as a whole, and this is a part of one"}
	}
	if err := p.CheckKind(record.Admin, k, "POST"); err != nil {
		return err
	}
	if err := entry.MayCreate(p, k); err != nil {
		return err
	}
	patch, err := k.Parse(append(membersOf(doc, doc.Differs(k.NewDoc())), '}'), record.ParseOptions{Surface: record.Admin, Create: true, Zone: o.Store.ZoneOf})
	if err != nil {
		return err
	}
	_, err = desk.Create(o, p, k, record.ID{}, entry.PrepareNew(o.Store, p, patch))
	return err
}
