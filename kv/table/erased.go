package table

import (
	"time"

	"doorward/kv/ledger"
	"doorward/kv/record"
)

// ErasedAs is the kind under which a record is erased: a ticket's parts are the ticket.
func ErasedAs(k *record.Kind) *record.Kind {
	if k == record.HolderName || k == record.Holder {
		return record.Ticket
	}
	return k
}

// HashErased is a record's keyed hash.
func (s *Set) HashErased(k *record.Kind, id record.ID) ledger.ErasedHash {
	return ledger.ErasedHash(s.HashCode("erased\x00" + ErasedAs(k).DocID(id)))
}

// erased tells whether a record was erased, or is being; nil: it was not.
func FindErased(v *View, k *record.Kind, id record.ID) (*Erased, error) {
	switch ErasedAs(k) {
	case record.Person, record.Membership, record.Ticket:
	default:
		return nil, nil
	}
	if !v.Store.Recalls.Any.Load() {
		return nil, nil
	}
	hash := v.Store.HashErased(k, id)
	row, err := v.Get(ErasedBucket, hash[:])
	if err != nil || row == nil {
		return nil, err
	}
	return ParseErased(row)
}

// IsErased tells whether a record is gone for good.
func IsErased(v *View, k *record.Kind, id record.ID) (bool, error) {
	if ErasedAs(k) == record.Ticket {
		return false, nil
	}
	e, err := FindErased(v, k, id)
	return e != nil, err
}

// NamesErased tells whether a record refers to an erased person.
func NamesErased(v *View, k *record.Kind, d *record.Doc) (bool, error) {
	for i := range k.Fields {
		f := &k.Fields[i]
		if RefersTo(f) != record.Person.Name {
			continue
		}
		if n := d.Int(f.Name); n != 0 {
			if gone, err := IsErased(v, record.Person, record.Int(n)); err != nil || gone {
				return gone, err
			}
		}
	}
	return false, nil
}

// HolderErased tells a ticket that belongs to an erased person.
func HolderErased(v *View, ticket record.ID) (bool, error) {
	bare := v.Bare
	v.Bare = true // what it hides depends on this
	defer func() { v.Bare = bare }()
	st, err := v.Load(record.Holder, ticket)
	if err != nil || st == nil {
		return false, err
	}
	d, err := st.Decode(record.Holder)
	if err != nil {
		return false, err
	}
	return NamesErased(v, record.Holder, d)
}

const DoorsQuiet = time.Hour
