package kv

import (
	"encoding/binary"
	"fmt"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
)

// verifyLease checks a range of ids: of a kind that is leased, in order, and apart from the range before it.
func verifyLease(v *sight, key, value []byte) error {
	if len(key) < 2 || len(value) < 8 {
		return ErrCorrupt
	}
	k, ok := record.ByNumber(key[1])
	if !ok || LeaseSize(k) == 0 {
		return fmt.Errorf("a lease of kind %d, of which none are leased: %w", key[1], ErrCorrupt)
	}
	to := int64(binary.BigEndian.Uint64(value))
	if key[0] == leaseLast && len(key) == 2 && len(value) == 8 && to > 0 && to < record.FirstDrawn {
		return nil
	}
	if len(key) != 10 {
		return ErrCorrupt
	}
	from := int64(binary.BigEndian.Uint64(key[2:]))
	if from < 1 || to < from || to >= record.FirstDrawn {
		return fmt.Errorf("a lease of %s ids from %d to %d: %w", k.Name, from, to, ErrCorrupt)
	}
	var err error
	switch key[0] {
	case leaseGiven:
		err = verifyGiven(v, k, to, value[8:])
	case leaseTaken:
		err = verifyTaken(v, k, from, to, value)
	default:
		err = ErrCorrupt
	}
	if err == nil {
		err = verifyApart(v, key, from)
	}
	return err
}

// verifyGiven checks that the row of a leased range names its holder, and that the root mints no id of the range.
func verifyGiven(v *sight, k *record.Kind, to int64, holder []byte) error {
	c := cutter{rest: holder}
	c.uvarint()
	if _, err := ulid.ParseStrict(string(c.rest)); c.short || err != nil && len(c.rest) > 0 {
		return fmt.Errorf("nobody is known to hold a lease of %s ids: %w", k.Name, ErrCorrupt)
	}
	if v.store.isLeaf() {
		return nil // it was cut off a range that this store was leased
	}
	row, err := v.Get(metaBucket, stateKey)
	if err != nil {
		return err
	}
	s, err := decodeState(row)
	if err == nil && to > s.minted[k.Number] {
		err = fmt.Errorf("%s ids up to %d are leased, and those from %d on are minted here", k.Name, to, s.minted[k.Number]+1)
	}
	return err
}

// verifyTaken checks what is left of a range, and that none is taken from beyond it again.
func verifyTaken(v *sight, k *record.Kind, from, to int64, value []byte) error {
	_, next, err := parseTaken(value)
	if err != nil || len(value) != 16 || next < from || next > to {
		return fmt.Errorf("of a lease of %s ids nothing is left: %w", k.Name, ErrCorrupt)
	}
	last, err := v.Get(leaseBucket, []byte{leaseLast, k.Number})
	if err != nil || len(last) != 8 || int64(binary.BigEndian.Uint64(last)) < to {
		return fmt.Errorf("a lease of %s ids ends beyond the last that was taken: %w", k.Name, orCorrupt(err))
	}
	return nil
}

// verifyApart checks that the range before one ends before it begins.
func verifyApart(v *sight, key []byte, from int64) error {
	return v.walk(leaseBucket, true, key[:2], binary.BigEndian.AppendUint64(append([]byte(nil), key[:2]...), uint64(from-1)), func(_, row []byte) (bool, error) {
		if len(row) < 8 || int64(binary.BigEndian.Uint64(row)) >= from {
			return false, fmt.Errorf("two leases of ids of kind %d overlap at %d", key[1], from)
		}
		return false, nil
	})
}
