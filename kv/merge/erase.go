package merge

import (
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// NoteErased writes what replicas are told of an erasure, and when it was done here, in microseconds; 0 = it goes on.
func NoteErased(o *table.Tx, l ledger.LedgerLine, key, done int64) error {
	o.Store.Recalls.Any.Store(true)
	row, err := o.Get(table.ErasedBucket, l.Hash[:])
	if err = o.Store.UnlessCorrupt(err); err != nil {
		return err
	}
	if row == nil || done != 0 {
		o.Put(table.ErasedBucket, l.Hash[:], (&table.Erased{Kind: l.Kind, Done: done}).Encode())
	}
	if o.Store.IsLeaf() {
		return nil // the centre tells
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
