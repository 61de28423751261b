package merge

import (
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
		o.Put(table.ErasedBucket, l.Hash[:], (&table.Erased{Kind: l.Kind, Done: done}).Encode())
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
		return table.RefusedFor(err, WasErased)
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
		return removeErasedEdit(o, a)
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
	rows := map[ledger.ErasedHash]*table.Erased{}
	err := o.Scan(table.ErasedBucket, nil, nil, func(key, row []byte) (bool, error) {
		e, err := table.ParseErased(row)
		if err != nil || len(key) != ledger.CodeHashSize {
			return false, table.OrCorrupt(err)
		}
		rows[ledger.ErasedHash(key)] = e
		return true, nil
	})
	for hash, e := range rows {
		e.Done = 0
		o.Put(table.ErasedBucket, hash[:], e.Encode())
	}
	return err
}
