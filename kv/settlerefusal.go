package kv

import (
	"bytes"
	"slices"

	"doorward/kv/record"
)

// applyRefused does what a refused document would have done, as far as staff may: of an edit the fields that it changed, and no more.
// What others have changed since stays. Where nothing is held of what it was made of, these are all that differ.
func applyRefused(o *op, p Principal, d *record.Doc) error {
	k, id, doc := listedRecord(record.Refusal, d)
	if k == nil || doc == nil || k.Fact || k.System && erasedAs(k) != record.Ticket {
		return &Conflict{Reason: "staff do not write such records"}
	}
	if gone, err := isErased(o.sight, k, id); err != nil || gone {
		return orNotFound(err)
	}
	whole := d.Value("doc")
	body := record.Body{Shown: whole[1 : len(whole)-1]}
	if string(body.Member("_deleted")) == "true" {
		return deleteAs(o, p, erasedAs(k), id)
	}
	if bytes.Equal(whole, wholeDoc(nameOf(body))) {
		return &Conflict{Reason: "the refusal names the document, and holds nothing of what it said"}
	}
	st, err := o.loadAny(k, id)
	if err != nil {
		return err
	}
	switch {
	case st == nil:
		return createAs(o, p, k, doc)
	case st.deleted:
		return &Conflict{Reason: "the record was deleted"}
	}
	base, err := baseOfRefused(o, k, st, body)
	if err == nil && base == nil {
		base, err = st.decode(k)
	}
	if err != nil {
		return err
	}
	return editAs(o, p, erasedAs(k), id, staffForm(k), membersOf(doc, doc.Differs(base)))
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
			members = appendMember(members, name, doc.Value(f.Name))
		}
	}
	return members
}

// deleteAs deletes a record as p's request to /admin/v1 would.
func deleteAs(o *op, p Principal, k *record.Kind, id record.ID) error {
	if err := p.CheckKind(record.Admin, k, "DELETE"); err != nil {
		return err
	}
	before, err := findForChange(o, p, Target{Surface: record.Admin, Kind: k, ID: id})
	if err != nil {
		return err
	}
	if err := unreferred(o, p, k, id); err != nil {
		return err
	}
	if k == record.Ticket {
		return deleteTicket(o, p, before)
	}
	was, err := before.decode(k)
	if err == nil {
		_, err = o.write(change{kind: k, id: id, before: before, was: was, author: p.Key()})
	}
	return err
}

// createAs makes a record as p's request to /admin/v1 would, under an id of its own.
func createAs(o *op, p Principal, k *record.Kind, doc *record.Doc) error {
	if erasedAs(k) == record.Ticket {
		return &Conflict{Reason: "a ticket is made as a whole, and this is a part of one"}
	}
	if err := p.CheckKind(record.Admin, k, "POST"); err != nil {
		return err
	}
	if err := mayCreate(p, k); err != nil {
		return err
	}
	patch, err := k.Parse(append(membersOf(doc, doc.Differs(k.NewDoc())), '}'), record.ParseOptions{Surface: record.Admin, Create: true, Zone: o.store.zone})
	if err != nil {
		return err
	}
	_, err = create(o, p, k, record.ID{}, prepareNew(o.store, p, patch))
	return err
}
