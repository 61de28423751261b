package kv

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/record"
)

// This file decides which records a principal sees and which it may change (contract.md §7). Everything else asks here.

// sees tells whether p sees a stored record.
func sees(v *sight, p Principal, k *record.Kind, st *stored) (bool, error) {
	if p.whole() {
		return true, nil
	}
	switch k.Class {
	case record.Everyones:
		return true, nil
	case record.Finances:
		return p.level.Name != EventOf, nil
	case record.Churches:
		return holdsChurch(v, p, st.home(k))
	case record.Shared:
		return seesShared(v, p, k, st)
	case record.Members:
		return seesMembership(v, p, st)
	case record.Events:
		return seesEvent(v, p, st.home(k))
	}
	return false, nil
}

func seesShared(v *sight, p Principal, k *record.Kind, st *stored) (bool, error) {
	if p.level.Name == EventOf {
		return k == record.Event && p.level.has(st.id.Int()), nil
	}
	home := st.home(k)
	if home == 0 {
		return true, nil
	}
	return holdsChurch(v, p, home)
}

// seesMembership wants both ends seen.
func seesMembership(v *sight, p Principal, st *stored) (bool, error) {
	ok, err := holdsChurch(v, p, st.home(record.Membership))
	if err != nil || !ok {
		return false, err
	}
	group, err := v.loadRef(record.Group, member(st.body, "group_id"))
	if err != nil || group == nil {
		return false, err
	}
	return seesShared(v, p, record.Group, group)
}

func seesEvent(v *sight, p Principal, event int64) (bool, error) {
	if p.whole() {
		return true, nil
	}
	if p.level.Name == EventOf {
		return p.level.has(event), nil
	}
	st, err := v.load(record.Event, record.Int(event))
	if err != nil || st == nil {
		return false, err
	}
	return seesShared(v, p, record.Event, st)
}

// holdsChurch tells whether a church is one of p's own.
func holdsChurch(v *sight, p Principal, church int64) (bool, error) {
	switch {
	case p.whole():
		return true, nil
	case church == 0:
		return false, nil
	case p.level.Name == ChurchOf:
		return p.level.has(church), nil
	case p.level.Name == RegionalOf:
		st, err := v.loadRef(record.Church, record.Int(church))
		return err == nil && st != nil && p.level.has(member(st.body, "regional_id").Int()), err
	}
	return false, nil
}

// churches are p's own churches; only for regional and church level.
func churches(v *sight, p Principal) ([]int64, error) {
	if p.level.Name != RegionalOf {
		return p.level.IDs, nil
	}
	var ids []int64
	for _, regional := range p.level.IDs {
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
	if k == record.APIKey && !p.whole() {
		return nil, ErrNotFound
	}
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
func (p Principal) seesHolders() bool {
	return p.level.Name != EventOf && (p.Check(record.Event.Resource, "GET") == nil || p.Check("admin", "GET") == nil)
}

// mayCreate answers whether p's level writes records of a kind at all.
func mayCreate(p Principal, k *record.Kind) error {
	switch {
	case k.Fact || k.System:
		return ErrNotFound
	case k.Class == record.Everyones || k.Class == record.Finances:
		return p.CheckWhole()
	case k.Class == record.Events:
		return nil // as its event allows
	}
	return p.checkLevel(ChurchOf)
}

// mayChange answers whether p may change a record that it sees: what belongs to no church is changed at denomination level.
func mayChange(v *sight, p Principal, k *record.Kind, st *stored) error {
	if p.whole() {
		return nil
	}
	switch k.Class {
	case record.Churches, record.Members:
		return nil // seen only where it belongs to p
	case record.Shared:
		if p.level.Name != EventOf && st.home(k) != 0 {
			return nil
		}
	case record.Events:
		return mayChangeEvent(v, p, st.home(k))
	}
	return p.CheckWhole()
}

// mayChangeEvent guards an event's tickets: they change with their event. At event level the key's own event is meant.
func mayChangeEvent(v *sight, p Principal, event int64) error {
	if p.whole() || p.level.Name == EventOf && p.level.has(event) {
		return nil
	}
	st, err := v.load(record.Event, record.Int(event))
	if err != nil {
		return err
	}
	if st == nil {
		return ErrNotFound
	}
	return mayChange(v, p, record.Event, st)
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
