package table

import (
	"bytes"
	"encoding/binary"
	"errors"

	"doorward/kv/access"
	"doorward/kv/engine"
	"doorward/kv/record"
)

// PassOver moves a kind's mark on by a gap. A root does not know which laptops had leases of the ids in the gap, so it takes their
// records from every laptop.
func PassOver(w *engine.Tx, s *state, k *record.Kind, gap int64, root bool) {
	from := s.Minted[k.Number] + 1
	to := min(from+gap, record.FirstDrawn) - 1
	s.Minted[k.Number] = to
	if LeaseSize(k) > 0 && root && from <= to {
		w.Put(LeaseBucket, LeaseKey(LeaseGiven, k, from), binary.AppendUvarint(SeqKey(uint64(to)), Forgotten))
	}
}

// A store without a centre mints ids from 1. It leases ranges of ids beyond its mark, and never uses them itself. A store with a centre
// mints from its leases. If they are used up, it draws ids at random from those that no lease ever has (design.md §4).
const (
	LeaseGiven = 'g' // g 1, kind 1, from 8 → to 8, api key uv, epoch
	LeaseTaken = 't' // t 1, kind 1, from 8 → to 8, next 8
	LeaseLast  = 'l' // l 1, kind 1 → the end 8 of the last range taken: they ascend
)

// Forgotten stands for the key of a range that may have been leased after the backup that a store was restored from.
const Forgotten = 0

// LeaseSize is how many ids of a kind one lease has; 0 = only the root makes records of the kind.
func LeaseSize(k *record.Kind) int64 {
	switch {
	case k == record.Ticket:
		return 100_000
	case k.ULID || k.OfTicket() || !access.OfLaptops(k):
		return 0 // a ticket's code has its id
	}
	return 10_000
}

// LeaseKey is the key of a range.
func LeaseKey(side byte, k *record.Kind, from int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{side, k.Number}, uint64(from))
}

// burnLeases gives up every lease of this store, because another copy of it may mint from the same ranges.
func burnLeases(o *Tx) {
	keys, err := FirstKeys(o.View.View, LeaseBucket, []byte{LeaseTaken}, MaxKept)
	o.Store.Damage.Note(err)
	if errors.Is(err, engine.ErrCorrupt) { // the damaged row and the ranges after it are given up too
		all := func(key []byte) { keys = append(keys, bytes.Clone(key)) }
		Sound(o.View.View, LeaseBucket, []byte{LeaseTaken}, func(key, _ []byte) { all(key) }, all)
	}
	for _, key := range keys {
		o.Delete(LeaseBucket, key)
	}
}
