package inbox

import (
	"bytes"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/idempotency"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/ticket"
	"doorward/kv/value"
)

// Choice says what becomes of an item. The zero Choice keeps what stands: the value that the merge took, and the record without
// what was refused.
type Choice struct {
	Other bool           // take what does not stand: the conflict's other value, or the refused document
	Value jsontext.Value // of a conflict: a third value of the field; nil = none
	Once  *idempotency.Request
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
	chosen := r.Value
	if chosen == nil {
		chosen = r.item.Value("other").Clone()
	}
	name := record.FormName(k, f.Name)
	if g, ok := staffForm(k).Field(name); ok && g.Settable(record.Admin) && !f.Flags.Has(record.Frozen) {
		return r.editPart(k, st, value.AppendMember([]byte{'{'}, name, chosen))
	}
	if r.Value != nil {
		return fault.ByField{"value": {"The field is not one that staff set: keep one of the two."}}
	}
	if err := r.mayResolve(k, id); err != nil {
		return err
	}
	if k == record.Ticket && f.Name == "holding" {
		return ticket.TakeHolding(r.o, r.p, st, entry.IDOfHolding(chosen))
	}
	_, err = entry.Amend(r.o, r.p, k, st, func(is *record.Doc) { is.Set(f.Name, chosen) })
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
	parts := in.Split()
	for _, part := range [...]*record.Patch{parts.Name, parts.Holder} {
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
			members = value.AppendMember(members, name, doc.Value(f.Name))
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

// restoreEdit makes a deleted record again, as the edit has it.
func (r *resolution) restoreEdit(k *record.Kind, id record.ID) error {
	st, err := r.o.LoadAny(k, id)
	if err != nil {
		return err
	}
	if st == nil || !st.Deleted {
		return &table.Conflict{Reason: "the record is there again"}
	}
	if err := entry.MayCreate(r.p, entry.WrittenAs(k)); err != nil {
		return err
	}
	is, err := listedEdit(k, r.item)
	if err != nil {
		return err
	}
	if is == nil {
		return &table.Conflict{Reason: "the conflict does not hold the record"}
	}
	if entry.WrittenAs(k) == record.Ticket {
		return r.restoreTicket(id, is)
	}
	if err := r.makeAgain(st, is); err != nil {
		return err
	}
	if k == record.Person {
		return table.Rehome(r.o, id)
	}
	return nil
}

// listedEdit is the whole record that a conflict holds; nil: it holds none.
func listedEdit(k *record.Kind, d *record.Doc) (*record.Doc, error) {
	other := d.Value("other")
	if d.Text("field") != "" || other.Kind() != jsontext.KindBeginObject {
		return nil, nil
	}
	return k.Decode(record.Body{Shown: other[1 : len(other)-1]})
}

// makeAgain makes a deleted record again.
func (r *resolution) makeAgain(st *table.Stored, is *record.Doc) error {
	if err := r.mayStand(st.ID, is); err != nil {
		return err
	}
	_, err := r.o.Write(table.Edit{Kind: is.Kind, ID: st.ID, Before: st, Is: is, Author: r.p.Key()})
	return err
}

// restoreTicket makes a ticket again of which an edit of one record is listed: a ticket is made as a whole. Its other records are what the
// same laptop has made of them, if that is listed too, or what they were when they were deleted.
func (r *resolution) restoreTicket(id record.ID, is *record.Doc) error {
	of := &restoring{r, is, id}
	whole := id
	if is.Kind.OfHolding() {
		whole = record.Int(is.Int("ticket_id"))
	}
	t, err := of.part(record.Ticket, whole)
	if err == nil {
		_, err = of.part(record.TicketCode, whole)
	}
	if err != nil {
		return err
	}
	st, err := r.o.Load(record.Ticket, whole)
	if err == nil {
		t, err = merge.DropErased(r.o, st, t)
	}
	if err != nil {
		return err
	}
	present := entry.IDOfHolding(t.Value("holding"))
	for _, h := range entry.HoldingsOf(t) {
		for _, k := range [...]*record.Kind{record.HolderName, record.Holder} {
			if _, err := of.part(k, h); err != nil && (h == present || !errors.Is(err, table.ErrConflict)) {
				return err
			}
		}
		if err := ticket.PlaceHolding(r.o, h, h == present); err != nil {
			return err
		}
	}
	return admission.SettleTicket(r.o, whole)
}

// restoring makes the records of a ticket again.
type restoring struct {
	*resolution
	edit *record.Doc
	id   record.ID // of the edit
}

// part makes one again, unless it is there, and answers it. What was erased stays so.
func (r *restoring) part(k *record.Kind, id record.ID) (is *record.Doc, err error) {
	st, err := r.o.LoadAny(k, id)
	if err != nil {
		return nil, err
	}
	if st != nil && !st.Deleted {
		return st.Decode(k)
	}
	if gone, err := table.IsErased(r.o.View, k, id); err != nil || gone {
		return nil, err
	}
	if is = r.edit; k != r.edit.Kind || id != r.id {
		if is, err = r.lastPart(k, id); err != nil {
			return nil, err
		}
	}
	if st == nil || is == nil {
		return nil, &table.Conflict{Reason: "a ticket is made as a whole, and a part of this one is not held any more"}
	}
	return is, r.makeAgain(st, is)
}

// lastPart is what a deleted part of a ticket is restored as, beside the edit of another part that a conflict lists. What is listed of
// it comes off the list. nil: nothing is held.
func (r *resolution) lastPart(k *record.Kind, id record.ID) (*record.Doc, error) {
	ids, err := r.o.Lookup(record.Conflict, "record_id", k.FormatID(id))
	if err != nil {
		return nil, err
	}
	for _, listed := range ids {
		it := Item{record.Conflict, listed}
		st, d, err := find(r.o.View, r.p, it)
		if err != nil {
			return nil, err
		}
		if st == nil || d.Text("kind") != k.Name || d.Text("node") != r.item.Text("node") || !d.IsNull("winner") {
			continue
		}
		is, err := listedEdit(k, d)
		if err != nil {
			return nil, err
		}
		if is != nil {
			return is, takeOff(r.o, r.p, it, st, d)
		}
	}
	return beforeDeletion(r.o, k, id)
}

// beforeDeletion returns a deleted record as it was before; nil if the store does not have that body.
func beforeDeletion(o *table.Tx, k *record.Kind, id record.ID) (*record.Doc, error) {
	st, err := o.LoadAny(k, id)
	if err != nil || st == nil {
		return nil, err
	}
	t, err := table.LoadTree(o.View, k, st)
	if err != nil {
		return nil, err
	}
	for _, n := range slices.Backward(t.Nodes()) {
		if n.Deleted && !n.Ended && !t.Find(n.Parent).Deleted { // what ended is a branch, and not the record
			return table.KeptDoc(o.View, k, id, n.Parent)
		}
	}
	return nil, nil
}

// mayStand returns nil if a record may be made as it is: the principal may refer to all records that it names, and no other record has
// its unique fields.
func (r *resolution) mayStand(id record.ID, is *record.Doc) error {
	k := is.Kind
	if entry.OwnedByChurch(k) && is.IsNull("church_id") {
		if err := r.p.CheckWhole(); err != nil {
			return err
		}
	}
	for _, to := range is.Pointers() {
		ok, err := entry.MayPoint(r.o, r.p, entry.WrittenAs(k), to)
		if err != nil {
			return err
		}
		if !ok {
			return &table.Conflict{Reason: "what the record refers to is not there", Field: to.Field}
		}
	}
	return entry.Unique(r.o, k, id, is)
}
