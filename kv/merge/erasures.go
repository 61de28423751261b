package merge

import (
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/table"
)

// ApplyErasure notes that a record is to be erased which a peer has told of, or which belongs to a person who was erased.
func ApplyErasure(o *table.Tx, k *record.Kind, hash ledger.ErasedHash) {
	o.Store.Recalls.Any.Store(true)
	row, err := o.Get(table.ErasedBucket, hash[:])
	o.Store.NoteCorrupt(err)
	if row == nil {
		o.Put(table.ErasedBucket, hash[:], (&table.Erased{Kind: k}).Encode())
	}
	o.After(func() {
		o.Store.Recalls.Told.Add(1)
		o.Store.Recalls.Come.Ring()
	})
}

// EraseAnew notes of all erasures that they are still to be carried out: by another key they are about other records.
func EraseAnew(o *table.Tx) error {
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
