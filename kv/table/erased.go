package table

import (
	"encoding/binary"
	"time"

	"doorward/kv/engine"
	"doorward/kv/ledger"
	"doorward/kv/record"
)

// ErasedAs is the kind under which a record is erased: a holding's records are the holding.
func ErasedAs(k *record.Kind) *record.Kind {
	if k.OfHolding() {
		return record.Holder
	}
	return k
}

// HashErased is what is said of a record that is erased: a keyed hash of its id. A holding's ULID says nothing of a person, and is said itself.
func (s *Set) HashErased(k *record.Kind, id record.ID) ledger.ErasedHash {
	if k.OfHolding() {
		return ledger.ErasedHash(id.ULID())
	}
	return ledger.ErasedHash(s.HashCode("erased\x00" + k.DocID(id)))
}

// IsErasable tells the kinds whose records are erased.
func IsErasable(k *record.Kind) bool {
	return k == record.Person || k == record.Membership || k == record.Holder
}

// IsErased tells whether a record is gone for good, or will be.
func IsErased(v *View, k *record.Kind, id record.ID) (bool, error) {
	if !IsErasable(ErasedAs(k)) || !v.Store.Recalls.Any.Load() {
		return false, nil
	}
	hash := v.Store.HashErased(k, id)
	row, err := v.Get(ErasedBucket, hash[:])
	return row != nil, err
}

// FindErased is the row of an erased record; nil: it was not erased.
func FindErased(v *View, k *record.Kind, id record.ID) (*Erased, error) {
	hash := v.Store.HashErased(k, id)
	row, err := v.Get(ErasedBucket, hash[:])
	if err != nil || row == nil {
		return nil, err
	}
	return ParseErased(row)
}

// NamesErased tells whether a record refers to an erased person.
func NamesErased(v *View, k *record.Kind, d *record.Doc) (bool, error) {
	if k != record.Membership && k != record.Holder {
		return false, nil
	}
	for _, ref := range d.Pointers() {
		if ref.Kind != record.Person {
			continue
		}
		if gone, err := IsErased(v, ref.Kind, ref.ID); err != nil || gone {
			return gone, err
		}
	}
	return false, nil
}

// Erased is the row of an erased record: kind 1, done 8.
type Erased struct {
	Kind *record.Kind
	Done int64 // microseconds since 1970; 0 = not yet
}

func (e *Erased) Encode() []byte {
	return binary.BigEndian.AppendUint64([]byte{e.Kind.Number}, uint64(e.Done))
}

func ParseErased(row []byte) (e *Erased, err error) {
	c := Cutter{Rest: row}
	e = &Erased{}
	e.Kind, _ = record.ByNumber(c.Byte())
	e.Done = int64(c.Uint64())
	if c.Short || len(c.Rest) > 0 || e.Kind == nil {
		return nil, engine.ErrCorrupt
	}
	return e, nil
}

const DoorsQuiet = time.Hour
