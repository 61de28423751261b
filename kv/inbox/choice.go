package inbox

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/ticket"
)

// Choice says what becomes of an item. The zero Choice keeps what stands: the value that the merge took, and the record without
// what was refused.
type Choice struct {
	Other bool           // take what does not stand: the conflict's other value, or the refused document
	Value jsontext.Value // of a conflict: a third value of the field; nil = none
}

// resolution is an item while a choice about it is applied.
type resolution struct {
	o    *table.Tx
	p    auth.Principal // writes the choice
	item *record.Doc
	Choice
}

// keeps tells whether what stands is kept.
func (c Choice) keeps() bool { return c.Value == nil && !c.Other }

// Resolve applies a choice about an item as p's own edit and takes the item off the list, both or neither. It returns ErrNotFound,
// *Forbidden, *Conflict or fault.ByField. The caller has checked that p may resolve items of the kind.
func Resolve(o *table.Tx, p auth.Principal, it Item, c Choice) error {
	o.Reader = p
	st, d, err := find(o.View, p, it)
	if err != nil || st == nil {
		return table.OrNotFound(err)
	}
	r := &resolution{o: o, p: p, item: d, Choice: c}
	if it.Kind == record.Refusal {
		err = r.takeRefused()
	} else {
		err = r.decideConflict()
	}
	if err != nil {
		return err
	}
	return takeOff(o, p, it, st, d)
}

// takeOff takes an item off the list.
func takeOff(o *table.Tx, p auth.Principal, it Item, st *table.Stored, d *record.Doc) error {
	_, err := o.Write(table.Edit{Kind: it.Kind, ID: it.ID, Before: st, Was: d, Author: p.Key()})
	return err
}

// decideConflict writes the value that was chosen. If the record was deleted while a person changed it, the other value is the whole
// record, and the record is restored with it.
func (r *resolution) decideConflict() error {
	k, of, _ := table.ListedRecord(record.Conflict, r.item)
	switch {
	case k == nil && r.keeps():
		return nil
	case k == nil:
		return &table.Conflict{Reason: "this version does not know the kind of the record"}
	case r.keeps():
		return r.mayResolve(k, of)
	case r.item.Text("field") != "":
		return r.chooseField(k, of)
	case r.Value != nil:
		return fault.ByField{"value": {"The whole record is in conflict: keep one of the two."}}
	}
	return r.restoreEdit(k, of)
}

// mayResolve returns nil if p may decide about a record.
func (r *resolution) mayResolve(k *record.Kind, id record.ID) error {
	if r.p.IsWhole() {
		return nil
	}
	st, err := r.o.LoadAny(k, id)
	if err != nil || st == nil {
		return table.OrNotFound(err)
	}
	return entry.MayChange(r.o.View, r.p, k, st)
}

// chooseField gives a field what was chosen.
func (r *resolution) chooseField(k *record.Kind, id record.ID) error {
	f, known := k.Field(r.item.Text("field"))
	if !known || !f.Stored() {
		return &table.Conflict{Reason: "this version does not know the field"}
	}
	st, err := r.o.Load(k, id)
	if err != nil {
		return err
	}
	if st == nil {
		return &table.Conflict{Reason: "the record was deleted meanwhile"}
	}
	value := r.Value
	if value == nil {
		value = r.item.Value("other").Clone()
	}
	name := record.FormName(k, f.Name)
	if g, ok := staffForm(k).Field(name); ok && g.Settable(record.Admin) && !f.Flags.Has(record.Frozen) {
		return r.editPart(k, st, table.AppendMember([]byte{'{'}, name, value))
	}
	if r.Value != nil {
		return fault.ByField{"value": {"The field is not one that staff set: keep one of the two."}}
	}
	if err := r.mayResolve(k, id); err != nil {
		return err
	}
	if k == record.Ticket && f.Name == "holding" {
		return ticket.TakeHolding(r.o, r.p, st, entry.IDOfHolding(value))
	}
	_, err = entry.Amend(r.o, r.p, k, st, func(is *record.Doc) { is.Set(f.Name, value) })
	return err
}

// takeRefused does what a refused document would have done, as far as staff may: of an edit the fields that it changed, and no more.
// What others have changed since stays. Where nothing is held of what it was made of, these are all that differ.
func (r *resolution) takeRefused() error {
	switch {
	case r.Value != nil:
		return fault.ByField{"value": {"A refused document is taken as it is, or dropped."}}
	case r.keeps():
		return nil
	}
	k, id, doc := table.ListedRecord(record.Refusal, r.item)
	if k == nil || doc == nil || k.Fact || k.System && !k.OfTicket() {
		return &table.Conflict{Reason: "staff do not write such records"}
	}
	if gone, err := table.IsErased(r.o.View, k, id); err != nil || gone {
		return table.OrNotFound(err)
	}
	whole := r.item.Value("doc")
	body := record.Body{Shown: whole[1 : len(whole)-1]}
	if string(body.Member("_deleted")) == "true" {
		if k != entry.WrittenAs(k) {
			return &table.Conflict{Reason: "a ticket is deleted as a whole, and this is a part of one"}
		}
		return r.deleteAs(k, id)
	}
	if bytes.Equal(whole, wholeDoc(nameOf(body))) {
		return &table.Conflict{Reason: "the refusal names the document, and holds nothing of what it said"}
	}
	st, err := r.o.LoadAny(k, id)
	if err != nil {
		return err
	}
	switch {
	case st == nil:
		return r.createAs(k, doc)
	case st.Deleted:
		return &table.Conflict{Reason: "the record was deleted"}
	}
	base, err := baseOfRefused(r.o, k, st, body)
	if err == nil && base == nil {
		base, err = st.Decode(k)
	}
	if err != nil {
		return err
	}
	return r.editPart(k, st, membersOf(doc, doc.Differs(base)))
}
