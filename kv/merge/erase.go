package merge

import (
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// NoteErased writes what replicas are told of an erasure, and when it was done here, in microseconds; 0 = it goes on. A ticket whose next holder is erased too
// is told of again.
func NoteErased(o *table.Tx, l ledger.LedgerLine, key, done int64) error {
	o.Store.Recalls.Any.Store(true)
	row, err := o.Get(table.ErasedBucket, l.Hash[:])
	if err = o.Store.UnlessCorrupt(err); err != nil {
		return err
	}
	e := table.NewErased(l.Kind)
	if row != nil {
		if e, err = table.ParseErased(row); err != nil {
			return err
		}
	}
	more := e.Learn(l.Firsts)
	again := e.Done != 0 && done == 0
	more = more || e.Kept
	e.Kept = false
	if row == nil || done != 0 || again || more {
		e.Done = done
		o.Put(table.ErasedBucket, l.Hash[:], e.Encode())
	}
	if o.Store.IsLeaf() {
		return nil // the centre tells
	}
	id := record.FromULID([16]byte(l.Hash))
	st, err := o.LoadAny(record.Erasure, id)
	if err != nil || st != nil && !again {
		return err
	}
	d := record.Erasure.NewDoc()
	d.Set("kind", value.Quote(l.Kind.Name))
	d.Set("at", value.Time(l.At))
	if key != 0 {
		d.Set("key_id", value.Number(key))
	}
	c := table.Edit{Kind: record.Erasure, Id: id, Before: st, Is: d, Author: key}
	if st != nil {
		if c.Was, err = st.Decode(record.Erasure); err != nil {
			return err
		}
	}
	_, err = o.Write(c)
	return err
}
