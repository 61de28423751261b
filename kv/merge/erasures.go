package merge

import (
	"maps"
	"slices"

	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/table"
)

// ApplyErasure notes that a record is to be erased which a peer has told of, or which belongs to somebody who was erased. first is what
// the peer says are a ticket's first revisions without names; nil: it does not say. Where they are others than before, those are past and it
// is erased again.
func ApplyErasure(o *table.Tx, k *record.Kind, hash ledger.ErasedHash, first ledger.Revisions) {
	o.Store.Recalls.Any.Store(true)
	row, err := o.Get(table.ErasedBucket, hash[:])
	o.Store.NoteCorrupt(err)
	is, anew := table.NewErased(k), row == nil
	if before, err := table.ParseErased(row); row != nil && len(first) > 0 {
		anew = err != nil || !maps.EqualFunc(before.First, first, slices.Equal)
		if err == nil {
			is.Firsts = before.Firsts
		}
	}
	if anew {
		is.Follow(first)
		o.Put(table.ErasedBucket, hash[:], is.Encode())
	}
	o.After(func() {
		o.Store.Recalls.Told.Add(1)
		o.Store.Recalls.Come.Ring()
	})
}

// eraseTicket has a ticket erased that an arrival gives to somebody who is erased. e is what was erased of it before, when somebody else
// had it; nil: nothing. Where the arrival was made since, the names that stand beside it were too.
func eraseTicket(o *table.Tx, a *Arrival, e *table.Erased) error {
	hash := o.Store.HashErased(a.Kind, a.Id)
	if e != nil && (e.Knows(a.Kind, a.Path, &a.Tree) || e.KnowsHalf(a.Kind, a.Path, &a.Tree)) && !o.Store.IsLeaf() {
		if err := NoteErased(o, ledger.LedgerLine{Kind: record.Ticket, Hash: hash, At: o.Now}, 0, 0); err != nil {
			return err
		}
		e.Retire()
		e.Done, e.Kept = 0, false
		o.Put(table.ErasedBucket, hash[:], e.Encode())
	}
	ApplyErasure(o, record.Ticket, hash, nil)
	return nil
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
