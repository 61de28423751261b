package kv_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/erase"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
)

// TestARestoredCentreTakesErasuresFromALaptop: of what is or was in its databases and of what is not here, for a week, and at no other
// time; from then on they are its own.
func TestARestoredCentreTakesErasuresFromALaptop(t *testing.T) {
	c := joined{centre: twoChurches(t)}
	person := func(church int) int64 {
		return kvtest.Create(t, c.centre, record.Person, fmt.Sprintf(`{"full_name":"Zacarias","church_id":%d}`, church))
	}
	own, moved, other := person(1), person(1), person(2)
	patched(t, c.centre, record.Person, moved, `{"church_id":2}`)
	key := laptopKey(t, c.centre, auth.Level{Name: auth.ChurchOf, IDs: []int64{1}})
	told := func(ids ...int64) (all []erase.Erasure) {
		for _, id := range ids {
			all = append(all, erase.Erasure{Kind: record.Person, Hash: kv.HashErased(c.centre, record.Person, record.Int(id))})
		}
		return all
	}
	absent := other + 1
	all := told(own, moved, other, absent)
	if err := c.centre.Erasures.RecallErasures(loggedIn(t, c.centre, key), all, true); !errors.Is(err, auth.ErrForbidden) {
		t.Errorf("a centre that was not restored: %v, want forbidden", err)
	}
	clock := relapsed(t, &c, func() {})
	p := loggedIn(t, c.centre, key)
	clock.Move(8 * 24 * time.Hour)
	if err := c.centre.Erasures.RecallErasures(p, all, true); !errors.Is(err, auth.ErrForbidden) {
		t.Errorf("after a week: %v, want forbidden", err)
	}
	clock.Move(-8 * 24 * time.Hour)
	if err := c.centre.Erasures.RecallErasures(kvtest.Login(t, c.centre, "denomination", "*:*"), all, true); kindOf(err) != "not found" {
		t.Errorf("for a key of another class: %v, want not found", err)
	}
	is := func(id int64) string {
		_, err := c.centre.Desk.Retrieve(auth.Operator(), target(record.Person, id))
		return kindOf(err)
	}
	if got := is(own) + is(moved) + is(other); got != "okokok" {
		t.Fatalf("before anything was taken the three are %s", got)
	}
	if err := c.centre.Erasures.RecallErasures(p, all, false); err != nil {
		t.Fatal(err)
	}
	if r, err := c.centre.Desk.Retrieve(auth.Operator(), target(record.Person, own)); err != nil || member(r.JSON, "full_name") == `"Zacarias"` {
		t.Errorf("until it is carried out the person is %s, %v, want nobody to be shown the name", r.JSON, err)
	}
	if err := c.centre.Erasures.RecallErasures(p, nil, true); err != nil {
		t.Fatal(err)
	}
	if got := is(own) + is(moved) + is(other); got != "not foundnot foundok" {
		t.Errorf("afterwards the three are %s, want what was never the laptop's to stay", got)
	}
	if n := kv.RowsHolding(t, c.centre, "body", "Zacarias"); n != 0 {
		t.Errorf("%d bodies of them are kept", n)
	}
	back := merge.DocWrite{ID: record.Person.DocID(record.Int(absent)), Path: chain("a"), Body: []byte(`{"full_name":"Zacarias","church_id":1}`)}
	if err := push(t, opens(t, c.centre, p, "church-1"), back); kindOf(err) != "forbidden" {
		t.Errorf("who was made since the backup, and erased, comes back: %v", err)
	}
	another := loggedIn(t, c.centre, laptopKey(t, c.centre, auth.Level{Name: auth.ChurchOf, IDs: []int64{2}}))
	wantTold(t, c.centre, another, 0, map[string]record.ID{"person": record.Int(own)}, map[string]record.ID{"person": record.Int(moved)}, map[string]record.ID{"person": record.Int(absent)})
	healthy(t, c.centre)
}
