package entry

import (
	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/table"
)

// This file asks the rules of the desk (package auth) which records a principal sees and which it may change. Everything else asks here.

// Sees tells whether p sees a stored record. A membership is seen where its group is seen too.
func Sees(v *table.View, p auth.Principal, k *record.Kind, st *table.Stored) (bool, error) {
	tie, err := tieTo(v, p, k, st)
	if err != nil || !auth.Desk(p, auth.Read, k, tie) {
		return false, err
	}
	if k != record.Membership || p.IsWhole() {
		return true, nil
	}
	group, err := v.LoadRef(record.Group, Member(st.Body, "group_id"))
	if err != nil || group == nil {
		return false, err
	}
	return Sees(v, p, record.Group, group)
}

// SeesEvent tells whether p's level sees an event.
func SeesEvent(v *table.View, p auth.Principal, event int64) (bool, error) {
	tie, err := tieToEvent(v, p, event)
	return tie&(auth.Own|auth.Nobodys) != 0, err
}

// HoldsChurch tells whether a church is one of p's own.
func HoldsChurch(v *table.View, p auth.Principal, church int64) (bool, error) {
	switch {
	case p.IsWhole():
		return true, nil
	case church == 0:
		return false, nil
	case p.IsOf(auth.ChurchOf):
		return p.Level().Has(church), nil
	case p.IsOf(auth.RegionalOf):
		st, err := v.LoadRef(record.Church, record.Int(church))
		return err == nil && st != nil && p.Level().Has(Member(st.Body, "regional_id").Int()), err
	}
	return false, nil
}

// Find loads a record that p sees; ErrNotFound for any other, the same for all reasons.
func Find(v *table.View, p auth.Principal, k *record.Kind, id record.ID) (*table.Stored, error) {
	st, err := v.Load(k, id)
	if err != nil {
		return nil, err
	}
	if st == nil {
		return nil, table.ErrNotFound
	}
	ok, err := Sees(v, p, k, st)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, table.ErrNotFound
	}
	return st, nil
}

// MayCreate answers whether p's level writes records of a kind at all.
func MayCreate(p auth.Principal, k *record.Kind) error {
	if !auth.OnDesk(k) {
		return table.ErrNotFound
	}
	return auth.CheckCreate(p, k)
}

// MayChange answers whether p may change a record that it sees: what belongs to no church is changed at denomination level. It returns
// ErrNotFound where the record's event is gone.
func MayChange(v *table.View, p auth.Principal, k *record.Kind, st *table.Stored) error {
	tie, err := tieTo(v, p, k, st)
	switch {
	case err != nil:
		return err
	case auth.Desk(p, auth.Change, k, tie):
		return nil
	case tie == auth.New:
		return table.ErrNotFound
	}
	return p.LacksLevel(auth.Denomination)
}

// Member reads a reference out of a body; the zero id for null.
func Member(b record.Body, name string) record.ID { return record.Int(table.IntOf(b.Member(name))) }
