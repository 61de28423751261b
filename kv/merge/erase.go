package merge

import (
	"cmp"

	"doorward/kv/admission"
	"doorward/kv/entry"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/kv/value"
)

// NoteErased writes the erased row of a record and the record that tells laptops of it. done is when the erasure was finished,
// in microseconds; 0 = it is not.
func NoteErased(o *table.Tx, l ledger.LedgerLine, key, done int64) error {
	o.Store.Recalls.Any.Store(true)
	row, err := o.Get(table.ErasedBucket, l.Hash[:])
	if err = o.Store.Damage.Skip(err); err != nil {
		return err
	}
	if row == nil || done != 0 {
		e, err := table.NewErased(o, l.Kind, done)
		if err != nil {
			return err
		}
		o.Put(table.ErasedBucket, l.Hash[:], e.Encode())
	}
	if o.Store.Identity.IsLeaf() {
		return nil // only the centre tells of erasures
	}
	id := record.FromULID([16]byte(l.Hash))
	st, err := o.LoadAny(record.Erasure, id)
	if err != nil || st != nil {
		return err
	}
	d := record.Erasure.NewDoc()
	d.Set("kind", value.Quote(l.Kind.Name))
	d.Set("at", value.Time(l.At))
	if key != 0 {
		d.Set("key_id", value.Number(key))
	}
	_, err = o.Write(table.Edit{Kind: record.Erasure, ID: id, Is: d, Author: key})
	return err
}

// WasErased is the reason of a refusal that staff do not see, because the document is the erased record.
const WasErased = "the record was erased"

// RefuseErased returns *Forbidden for a revision with a body of an erased record, even if the tree knows the revision.
func RefuseErased(o *table.Tx, a *Arrival) error {
	if a.Doc == nil {
		return nil // the tombstone itself, or one before it
	}
	if gone, err := table.IsErased(o.View, a.Kind, a.ID); err != nil || gone {
		return cmp.Or(err, table.Refused(WasErased))
	}
	return nil
}

// RemoveErased removes erased content from an arrival. It returns *Forbidden if nothing else is left. A holding that names an erased
// person is erased as it arrives.
func RemoveErased(o *table.Tx, a *Arrival) error {
	if !o.Store.Recalls.Any.Load() {
		return nil
	}
	if a.Doc == nil {
		return cmp.Or(eraseUnlinked(o, a), removeErasedEdit(o, a))
	}
	if err := RefuseErased(o, a); err != nil {
		return err
	}
	of, err := table.NamesErased(o.View, a.Kind, a.Doc)
	switch {
	case err != nil || !of:
		return err
	case a.Kind == record.Membership:
		return table.Refused(WasErased)
	}
	QueueErasure(o, record.Holder, o.Store.Identity.HashErased(a.Kind, a.ID))
	a.Path = append([]rev.ID{rev.Next(a.Path[0], true, nil)}, a.Path...)
	a.content, a.Node = content{}, rev.Node{Deleted: true, Held: true, At: o.Stamp}
	return EraseHolding(o, a.ID, 0)
}

// eraseUnlinked queues the erasure of a holding that the root does not link with the person, once a laptop deletes it, and not one branch
// of it. The laptop knew the person and has erased the holding: its holder record, or the revision with the person, had not come when the
// root erased the person.
func eraseUnlinked(o *table.Tx, a *Arrival) error {
	if o.Store.Identity.IsLeaf() || !a.Kind.OfHolding() || a.Node.Ended {
		return nil
	}
	unlinked, err := hasUnheardLink(o, a)
	if err == nil && unlinked {
		QueueErasure(o, record.Holder, o.Store.Identity.HashErased(a.Kind, a.ID))
	}
	return err
}

// hasUnheardLink tells whether the root has a name of a holding and no holder record, or lacks the revision that a laptop has ended. Where
// the ticket is deleted too, its holding is not erased.
func hasUnheardLink(o *table.Tx, a *Arrival) (bool, error) {
	if b := a.Before; b != nil && len(a.Path) > 1 && !a.Tree.Has(a.Path[1]) {
		ticket, err := o.Load(record.Ticket, entry.TicketOfPart(a.Kind, a.ID, b.Body))
		if err != nil || ticket != nil {
			return err == nil, err
		}
	}
	name, err := o.Load(record.HolderName, a.ID)
	if err != nil || name == nil {
		return false, err
	}
	linked, err := o.LoadAny(record.Holder, a.ID)
	return err == nil && linked == nil, err
}

// removeErasedEdit drops the edit that a tombstone has brought, if the record or a person in it is erased.
func removeErasedEdit(o *table.Tx, a *Arrival) error {
	if a.Lost == nil {
		return nil
	}
	gone, err := table.IsErased(o.View, a.Kind, a.ID)
	if err == nil && !gone {
		gone, err = table.NamesErased(o.View, a.Kind, a.Lost)
	}
	if gone {
		a.Lost = nil
	}
	return err
}

// QueueErasure queues the erasure of a record, because another store has told of it or because the record names an erased
// person.
func QueueErasure(o *table.Tx, k *record.Kind, hash ledger.ErasedHash) {
	o.Store.Recalls.Any.Store(true)
	row, err := o.Get(table.ErasedBucket, hash[:])
	o.Store.Damage.Note(err)
	if row == nil {
		o.Put(table.ErasedBucket, hash[:], (&table.Erased{Kind: k}).Encode())
	}
	o.After(func() {
		o.Store.Recalls.Told.Add(1)
		o.Store.Recalls.Come.Ring()
	})
}

// RequeueErasures queues every erasure again. The store has a new code key, so the hashes are those of other records.
func RequeueErasures(o *table.Tx) error {
	var all []*table.Erased
	err := o.Scan(table.ErasedBucket, nil, nil, func(key, row []byte) (bool, error) {
		e, err := table.ParseErased(key, row)
		if err == nil {
			all = append(all, e)
		}
		return true, err
	})
	for _, e := range all {
		e.Done = 0
		o.Put(table.ErasedBucket, e.Hash[:], e.Encode())
	}
	return err
}

// EraseRecord ends every leaf of a record with an empty tombstone and removes all bodies. A record that is deleted already loses the
// bodies that are left.
func EraseRecord(o *table.Tx, k *record.Kind, id record.ID, author int64) error {
	st, err := o.LoadAny(k, id)
	if err != nil || st == nil {
		return err
	}
	t, err := table.LoadTree(o.View, k, st)
	if err != nil {
		return err
	}
	if err := table.EndAll(&t, rev.Node{Deleted: true, Held: true, At: o.Stamp, Key: author}); err != nil {
		return err
	}
	next := &table.Stored{ID: st.ID, Header: st.Header}
	if t.Winner().Revision != st.Revision {
		next.UpdatedAt, next.UpdatedBy, next.Foreign = o.Stamp, author, false
	}
	next.Version = k.Version
	table.Shape(next, &t)
	if dropped := dropAll(&t); !dropped && next.Revision == st.Revision && next.Branched == st.Branched {
		return nil // nothing changes
	}
	return storeErased(o, k, st, next, &t)
}

// dropAll notes that a tree of a deleted record holds no bodies. dropped tells whether there were any.
func dropAll(t *rev.Tree) (dropped bool) {
	for _, n := range t.Nodes() {
		if n.Held && !n.Deleted {
			t.Hold(n.Revision, false)
			dropped = true
		}
	}
	return dropped
}

// storeErased stores a record as its tombstone, and nothing of what it was.
func storeErased(o *table.Tx, k *record.Kind, st, next *table.Stored, t *rev.Tree) error {
	c := table.Edit{Kind: k, ID: st.ID, Before: st}
	if !st.Deleted {
		var err error
		if c.Was, err = st.Decode(k); err != nil {
			return err
		}
	}
	if err := table.Forget(o, k, st.ID); err != nil {
		return err
	}
	if t.Len() > 1 {
		o.Put(table.TreeBucket, table.TreeKey(k, st.ID), t.Append(nil))
	}
	table.MoveLookups(o, c, next.UpdatedAt)
	table.Place(o, k, st, next)
	return nil
}

// EraseHolding is EraseRecord for the records of a holding. At the root the holding's ticket then has no holding; a laptop gets
// the ticket from its centre.
func EraseHolding(o *table.Tx, id record.ID, author int64) error {
	var ticket record.ID
	for _, k := range entry.HoldingKinds {
		st, err := o.Load(k, id)
		if err != nil {
			return err
		}
		if st != nil {
			ticket = entry.TicketOfPart(k, id, st.Body)
		}
		if err := EraseRecord(o, k, id, author); err != nil {
			return err
		}
	}
	if o.Store.Identity.IsLeaf() {
		return nil // the ticket arrives from the centre
	}
	st, was, err := o.LoadDoc(record.Ticket, ticket)
	if err != nil || st == nil || entry.PresentOf(st.Body) != id {
		return err
	}
	_, err = dropHolding(o, st, was, author)
	return err
}

// DropErased sets a ticket's holding to null if the holding is erased.
func DropErased(o *table.Tx, st *table.Stored, is *record.Doc) (*record.Doc, error) {
	gone, err := table.IsErased(o.View, record.Holder, entry.PresentOf(st.Body))
	if err != nil || !gone {
		return is, err
	}
	return dropHolding(o, st, is, 0)
}

// dropHolding sets a ticket's holding to null.
func dropHolding(o *table.Tx, st *table.Stored, was *record.Doc, author int64) (*record.Doc, error) {
	is := was.Clone()
	is.Set("holding", []byte("null"))
	_, err := o.Write(table.Edit{Kind: record.Ticket, ID: st.ID, Before: st, Was: was, Is: is, Author: author})
	return is, err
}

// Purge removes a record from the file without a tombstone, so no replica is told. It is for records that another store keeps.
// A tombstone that is in the file stays a deletion elsewhere. Readers of the log watch Releases.
func Purge(o *table.Tx, k *record.Kind, st *table.Stored) error {
	if !st.Deleted {
		was, err := st.Decode(k)
		if err != nil {
			return err
		}
		table.MoveLookups(o, table.Edit{Kind: k, ID: st.ID, Before: st, Was: was}, 0)
	}
	if err := table.ForgetMerged(o, k, st); err != nil {
		return err
	}
	o.Delete(table.LogBucket, table.SeqKey(st.Seq))
	for _, s := range st.Scopes {
		if s.Sort != 0 {
			o.Delete(table.ScopeLogBucket, table.ScopeSeqKey(nil, s, st.Seq))
		}
	}
	if err := table.ForgetAll(o, k, st.ID); err != nil {
		return err
	}
	o.Delete(table.KindBucket(k), k.AppendID(nil, st.ID))
	if err := admission.Forget(o, k, st); err != nil {
		return err
	}
	o.After(o.Store.Commits.Released)
	o.Changed = append(o.Changed, table.ListChange{Kind: k, ID: st.ID, Was: !st.Deleted, WasHome: st.Home(k), WasIn: table.Issued(k, st.Body), From: st.Mark()})
	return nil
}
