package entry

import (
	"encoding/binary"
	"log/slog"
	"math/rand/v2"

	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/table"
)

// FromLease takes ids off a range that this store was leased; 0 where none holds so many.
func FromLease(o *table.Tx, k *record.Kind, count int64) (from int64, err error) {
	var key, row []byte
	err = o.Scan(table.LeaseBucket, []byte{table.LeaseTaken, k.Number}, nil, func(at, value []byte) (bool, error) {
		to, next, err := ParseTaken(value)
		if err == nil && to-next+1 >= count {
			from = next
			key, row = append(key, at...), TakenRow(to, next+count)
		}
		return from == 0, err
	})
	switch {
	case err != nil || from == 0:
		return 0, err
	case binary.BigEndian.Uint64(row) < binary.BigEndian.Uint64(row[8:]):
		o.Delete(table.LeaseBucket, key)
	default:
		o.Put(table.LeaseBucket, key, row)
	}
	return from, nil
}

// TakenRow is the row of a taken lease: to 8, next 8.
func TakenRow(to, next int64) []byte {
	return binary.BigEndian.AppendUint64(table.SeqKey(uint64(to)), uint64(next))
}

// ParseTaken reads it.
func ParseTaken(row []byte) (to, next int64, err error) {
	c := table.Cutter{Rest: row}
	to, next = int64(c.Uint64()), int64(c.Uint64())
	if c.Short || to >= record.FirstDrawn {
		return 0, 0, engine.ErrCorrupt
	}
	return to, next, nil
}

// mintID is the next id for a record made here. If the store has none left in order, one is drawn.
func mintID(o *table.Tx, k *record.Kind) (record.ID, error) {
	reason := "no ids below those that are drawn are left: one is drawn at random"
	if !o.Store.Identity.IsLeaf() {
		if id, left := o.State.Mint(k); left {
			return id, nil
		}
	} else {
		n, err := FromLease(o, k, 1)
		if err != nil || n != 0 {
			return record.Int(n), err
		}
		reason = "no leased ids are left: one is drawn at random"
	}
	o.After(func() { o.Store.Log.Warn(reason, slog.String("kind", k.Name)) })
	return record.Int(record.FirstDrawn + rand.Int64N(record.MaxID+1-record.FirstDrawn)), nil
}

// mayGive returns a *Conflict for an id that a caller must not choose: a leased one, and at a laptop every one.
func mayGive(o *table.Tx, k *record.Kind, id record.ID) error {
	if o.Store.Identity.IsLeaf() {
		return &table.Conflict{Reason: "ids are given at the centre alone", Field: "id"}
	}
	_, given, err := LeaseOf(o.View, k, id.Int())
	if err == nil && given {
		err = &table.Conflict{Reason: "the id is leased to a laptop", Field: "id"}
	}
	return err
}

// LeaseOf finds the key that an id is leased to; given is false where it is in no range.
func LeaseOf(v *table.View, k *record.Kind, id int64) (key int64, given bool, err error) {
	if k == record.TicketCode {
		k = record.Ticket
	}
	prefix := []byte{table.LeaseGiven, k.Number}
	err = v.Walk(table.LeaseBucket, true, prefix, table.LeaseKey(table.LeaseGiven, k, id), func(_, row []byte) (bool, error) {
		c := table.Cutter{Rest: row}
		given = id <= int64(c.Uint64())
		key = int64(c.Uvarint())
		if c.Short {
			return false, engine.ErrCorrupt
		}
		return false, nil
	})
	return key, given, err
}
