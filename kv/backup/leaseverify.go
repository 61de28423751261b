package backup

import (
	"encoding/binary"
	"fmt"

	"github.com/oklog/ulid/v2"

	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
)

// verifyLease checks a range of ids: its kind is one that is leased, it is in order, and it begins after the range before it.
func verifyLease(v *table.View, _ engine.Bucket, key, value []byte) error {
	if len(key) < 2 || len(value) < 8 {
		return engine.ErrCorrupt
	}
	k, ok := record.ByNumber(key[1])
	if !ok || table.LeaseSize(k) == 0 {
		return fmt.Errorf("a lease of kind %d, of which none are leased: %w", key[1], engine.ErrCorrupt)
	}
	to := int64(binary.BigEndian.Uint64(value))
	if key[0] == table.LeaseLast && len(key) == 2 && len(value) == 8 && to > 0 && to < record.FirstDrawn {
		return nil
	}
	if len(key) != 10 {
		return engine.ErrCorrupt
	}
	from := int64(binary.BigEndian.Uint64(key[2:]))
	if from < 1 || to < from || to >= record.FirstDrawn {
		return fmt.Errorf("a lease of %s ids from %d to %d: %w", k.Name, from, to, engine.ErrCorrupt)
	}
	var err error
	switch key[0] {
	case table.LeaseGiven:
		err = verifyGiven(v, k, to, value[8:])
	case table.LeaseTaken:
		err = verifyTaken(v, k, from, to, value)
	default:
		err = engine.ErrCorrupt
	}
	if err == nil {
		err = verifyApart(v, key, from)
	}
	return err
}

// verifyGiven checks that the row of a leased range names its holder, and that the root mints no id of the range.
func verifyGiven(v *table.View, k *record.Kind, to int64, holder []byte) error {
	c := table.Cutter{Rest: holder}
	c.Uvarint()
	if _, err := ulid.ParseStrict(string(c.Rest)); c.Short || err != nil && len(c.Rest) > 0 {
		return fmt.Errorf("nobody is known to hold a lease of %s ids: %w", k.Name, engine.ErrCorrupt)
	}
	if v.Store.Identity.IsLeaf() {
		return nil // it was cut off a range that this store was leased
	}
	row, err := v.Get(table.MetaBucket, table.StateKey)
	if err != nil {
		return err
	}
	s, err := table.DecodeState(row)
	if err == nil && to > s.Minted[k.Number] {
		err = fmt.Errorf("%s ids up to %d are leased, and those from %d on are minted here", k.Name, to, s.Minted[k.Number]+1)
	}
	return err
}

// verifyTaken checks the rest of a range, and that the row of the last id covers it.
func verifyTaken(v *table.View, k *record.Kind, from, to int64, value []byte) error {
	_, next, err := entry.ParseTaken(value)
	if err != nil || len(value) != 16 || next < from || next > to {
		return fmt.Errorf("of a lease of %s ids nothing is left: %w", k.Name, engine.ErrCorrupt)
	}
	last, err := v.Get(table.LeaseBucket, []byte{table.LeaseLast, k.Number})
	if err != nil || len(last) != 8 || int64(binary.BigEndian.Uint64(last)) < to {
		return fmt.Errorf("a lease of %s ids ends beyond the last that was taken: %w", k.Name, table.OrCorrupt(err))
	}
	return nil
}

// verifyApart checks that the range before one ends before it begins.
func verifyApart(v *table.View, key []byte, from int64) error {
	return v.Walk(table.LeaseBucket, true, key[:2], binary.BigEndian.AppendUint64(append([]byte(nil), key[:2]...), uint64(from-1)), func(_, row []byte) (bool, error) {
		if len(row) < 8 || int64(binary.BigEndian.Uint64(row)) >= from {
			return false, fmt.Errorf("two leases of ids of kind %d overlap at %d", key[1], from)
		}
		return false, nil
	})
}
