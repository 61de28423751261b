package table

import (
	"bytes"
	"encoding/binary"
	"errors"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/record"
)

// A store without a centre mints ids from 1 and leases ranges beyond its mark, which it then never uses itself; one with a centre
// mints from the ranges that it was leased, and where these are dry draws from those that no range ever holds (design.md §4).
const (
	LeaseGiven = 'g' // g 1, kind 1, from 8 → to 8, api key uv, epoch
	LeaseTaken = 't' // t 1, kind 1, from 8 → to 8, next 8
	LeaseLast  = 'l' // l 1, kind 1 → the end 8 of the last range taken: they ascend
)

// Forgotten is the key of a range that was given in a past which a restored store knows nothing of: it may have been any laptop's.
const Forgotten = 0

// LeaseSize is how many ids of a kind are leased at once; 0 where nobody but the root makes such records.
func LeaseSize(k *record.Kind) int64 {
	switch {
	case k == record.Ticket:
		return 100_000
	case k.ULID || k.OfTicket() || !auth.OfLaptops(k):
		return 0 // a ticket's code has its id
	}
	return 10_000
}

func LeaseKey(side byte, k *record.Kind, from int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{side, k.Number}, uint64(from))
}

// burnLeases gives up every range of ids that this store has leased: another copy of it may mint from the same ones.
func burnLeases(o *Tx) {
	keys, err := FirstKeys(o.View.View, LeaseBucket, []byte{LeaseTaken}, MaxKept)
	o.Store.NoteCorrupt(err)
	if errors.Is(err, engine.ErrCorrupt) { // the ranges beyond a damaged row are given up too, and that one
		all := func(key []byte) { keys = append(keys, bytes.Clone(key)) }
		Sound(o.View.View, LeaseBucket, []byte{LeaseTaken}, func(key, _ []byte) { all(key) }, all)
	}
	for _, key := range keys {
		o.Delete(LeaseBucket, key)
	}
}
