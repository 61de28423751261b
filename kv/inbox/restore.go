package inbox

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/admission"
	"doorward/kv/entry"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/ticket"
)

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
	for i := range k.Fields {
		f := &k.Fields[i]
		to, ok := record.ByName(table.RefersTo(f))
		if !ok {
			continue
		}
		for _, n := range append(is.Ints(f.Name), is.Int(f.Name)) {
			if n == 0 {
				continue
			}
			ok, err := entry.MayPoint(r.o, r.p, entry.WrittenAs(k), record.Pointer{Field: f.Name, Kind: to, ID: record.Int(n)})
			if err != nil {
				return err
			}
			if !ok {
				return &table.Conflict{Reason: "what the record refers to is not there", Field: f.Name}
			}
		}
	}
	return entry.Unique(r.o, k, id, is)
}
