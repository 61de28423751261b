package kv

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/auth"
	"doorward/kv/record"
)

// This file asks the rules of the desk (package auth) which records a principal sees and which it may change. Everything else asks here.

// sees tells whether p sees a stored record. A membership is seen where its group is seen too.
func sees(v *sight, p Principal, k *record.Kind, st *stored) (bool, error) {
	tie, err := tieTo(v, p, k, st)
	if err != nil || !auth.Desk(p, auth.Read, k, tie) {
		return false, err
	}
	if k != record.Membership || p.IsWhole() {
		return true, nil
	}
	group, err := v.loadRef(record.Group, member(st.body, "group_id"))
	if err != nil || group == nil {
		return false, err
	}
	return sees(v, p, record.Group, group)
}

// seesEvent tells whether p's level sees an event.
func seesEvent(v *sight, p Principal, event int64) (bool, error) {
	tie, err := tieToEvent(v, p, event)
	return tie&(auth.Own|auth.Nobodys) != 0, err
}

// holdsChurch tells whether a church is one of p's own.
func holdsChurch(v *sight, p Principal, church int64) (bool, error) {
	switch {
	case p.IsWhole():
		return true, nil
	case church == 0:
		return false, nil
	case p.IsOf(ChurchOf):
		return p.Level().Has(church), nil
	case p.IsOf(RegionalOf):
		st, err := v.loadRef(record.Church, record.Int(church))
		return err == nil && st != nil && p.Level().Has(member(st.body, "regional_id").Int()), err
	}
	return false, nil
}

// churches are p's own churches; only for regional and church level.
func churches(v *sight, p Principal) ([]int64, error) {
	if !p.IsOf(RegionalOf) {
		return p.Level().IDs, nil
	}
	var ids []int64
	for _, regional := range p.Level().IDs {
		found, err := v.lookup(record.Church, "regional_id", regional)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			ids = append(ids, id.Int())
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// find loads a record that p sees; ErrNotFound for any other, the same for all reasons.
func find(v *sight, p Principal, k *record.Kind, id record.ID) (*stored, error) {
	st, err := v.load(k, id)
	if err != nil {
		return nil, err
	}
	if st == nil {
		return nil, ErrNotFound
	}
	ok, err := sees(v, p, k, st)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, ErrNotFound
	}
	return st, nil
}

// seesHolders tells whether a decision at a door may name the ticket's holder: to church level and above, if the key reads
// events besides.
func seesHolders(p Principal) bool {
	return !p.IsOf(EventOf) && (p.Check(record.Event.Resource, "GET") == nil || p.Check("admin", "GET") == nil)
}

// mayCreate answers whether p's level writes records of a kind at all.
func mayCreate(p Principal, k *record.Kind) error {
	if !auth.OnDesk(k) {
		return ErrNotFound
	}
	return auth.CheckCreate(p, k)
}

// mayChange answers whether p may change a record that it sees: what belongs to no church is changed at denomination level. It returns
// ErrNotFound where the record's event is gone.
func mayChange(v *sight, p Principal, k *record.Kind, st *stored) error {
	tie, err := tieTo(v, p, k, st)
	switch {
	case err != nil:
		return err
	case auth.Desk(p, auth.Change, k, tie):
		return nil
	case tie == auth.New:
		return ErrNotFound
	}
	return p.LacksLevel(Denomination)
}

// member reads a reference out of a body; the zero id for null.
func member(b record.Body, name string) record.ID { return record.Int(intOf(b.Member(name))) }

// intOf is a stored integer; 0 for null.
func intOf(v jsontext.Value) int64 {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return 0 // null, or not there
	}
	return n
}
