package inbox

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/table"
)

// restoreEdit makes a deleted record again, as the edit has it.
func restoreEdit(o *table.Tx, p auth.Principal, k *record.Kind, id record.ID, d *record.Doc) error {
	st, err := o.LoadAny(k, id)
	if err != nil {
		return err
	}
	if st == nil || !st.Deleted {
		return &table.Conflict{Reason: "the record is there again"}
	}
	if err := entry.MayCreate(p, entry.WrittenAs(k)); err != nil {
		return err
	}
	is, err := listedEdit(k, d)
	if err != nil {
		return err
	}
	if is == nil {
		return &table.Conflict{Reason: "the conflict does not hold the record"}
	}
	if entry.WrittenAs(k) == record.Ticket {
		return restoreTicket(o, p, id, d, is)
	}
	if err := makeAgain(o, p, st, is); err != nil {
		return err
	}
	if k == record.Person {
		return table.Rehome(o, id)
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
func makeAgain(o *table.Tx, p auth.Principal, st *table.Stored, is *record.Doc) error {
	if err := mayStand(o, p, is.Kind, st.ID, is); err != nil {
		return err
	}
	_, err := o.Write(table.Edit{Kind: is.Kind, ID: st.ID, Before: st, Is: is, Author: p.Key()})
	return err
}

// restoreTicket makes a ticket again of which an edit of one record is listed: a ticket is made as a whole. Its other records are what the
// same laptop has made of them, if that is listed too, or what they were when they were deleted.
func restoreTicket(o *table.Tx, p auth.Principal, id record.ID, d, is *record.Doc) error {
	r := &restoring{p: p, listed: d, edit: is, id: id}
	ticket := id
	if is.Kind.OfHolding() {
		ticket = record.Int(is.Int("ticket_id"))
	}
	t, err := r.part(o, record.Ticket, ticket)
	if err == nil {
		_, err = r.part(o, record.TicketCode, ticket)
	}
	if err != nil {
		return err
	}
	st, err := o.Load(record.Ticket, ticket)
	if err == nil {
		t, err = merge.DropErased(o, st, t)
	}
	if err != nil {
		return err
	}
	present := entry.IdOfHolding(t.Value("holding"))
	for _, h := range entry.HoldingsOf(t) {
		for _, k := range [...]*record.Kind{record.HolderName, record.Holder} {
			if _, err := r.part(o, k, h); err != nil && (h == present || !errors.Is(err, table.ErrConflict)) {
				return err
			}
		}
		if err := entry.SettleHolding(o, h, h == present); err != nil {
			return err
		}
	}
	return door.SettleTicket(o, ticket)
}

// restoring makes the records of a ticket again.
type restoring struct {
	p            auth.Principal
	listed, edit *record.Doc
	id           record.ID // of the edit
}

// part makes one again, unless it is there, and answers it. What was erased stays so.
func (r *restoring) part(o *table.Tx, k *record.Kind, id record.ID) (is *record.Doc, err error) {
	st, err := o.LoadAny(k, id)
	if err != nil {
		return nil, err
	}
	if st != nil && !st.Deleted {
		return st.Decode(k)
	}
	if gone, err := table.IsErased(o.View, k, id); err != nil || gone {
		return nil, err
	}
	if is = r.edit; k != r.edit.Kind || id != r.id {
		if is, err = lastPart(o, r.p, k, id, r.listed); err != nil {
			return nil, err
		}
	}
	if st == nil || is == nil {
		return nil, &table.Conflict{Reason: "a ticket is made as a whole, and a part of this one is not held any more"}
	}
	return is, makeAgain(o, r.p, st, is)
}

// lastPart is what a deleted part of a ticket is restored as, beside the edit of another part that a conflict lists. What is listed of
// it comes off the list. nil: nothing is held.
func lastPart(o *table.Tx, p auth.Principal, k *record.Kind, id record.ID, beside *record.Doc) (*record.Doc, error) {
	ids, err := o.Lookup(record.Conflict, "record_id", k.FormatID(id))
	if err != nil {
		return nil, err
	}
	for _, listed := range ids {
		st, d, err := matter(o.View, p, record.Conflict, listed)
		if err != nil {
			return nil, err
		}
		if st == nil || d.Text("kind") != k.Name || d.Text("node") != beside.Text("node") || !d.IsNull("winner") {
			continue
		}
		is, err := listedEdit(k, d)
		if err != nil {
			return nil, err
		}
		if is != nil {
			_, err = o.Write(table.Edit{Kind: record.Conflict, ID: listed, Before: st, Was: d, Author: p.Key()})
			return is, err
		}
	}
	return beforeDeletion(o, k, id)
}

// beforeDeletion is what a deleted record was; nil where that is not held.
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

// mayStand answers nil where a record may be made as it is: what it refers to is there and p's, and nothing else has what it is known
// by.
func mayStand(o *table.Tx, p auth.Principal, k *record.Kind, id record.ID, is *record.Doc) error {
	if entry.OwnedByChurch(k) && is.IsNull("church_id") {
		if err := p.CheckWhole(); err != nil {
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
			ok, err := entry.MayPoint(o, p, entry.WrittenAs(k), record.Pointer{Field: f.Name, Kind: to, ID: record.Int(n)})
			if err != nil {
				return err
			}
			if !ok {
				return &table.Conflict{Reason: "what the record refers to is not there", Field: f.Name}
			}
		}
	}
	return entry.Unique(o, k, id, is)
}
