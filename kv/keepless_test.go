package kv_test

import (
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// TestALaptopKeepsNothingOfWhatWasDeletedElsewhere: who is erased there is in none of its bytes once the file is written anew. The root
// keeps what it deletes, for it can give that back, and a branch that was made at the laptop stays until a deletion stands on it too.
func TestALaptopKeepsNothingOfWhatWasDeletedElsewhere(t *testing.T) {
	clock := kvtest.NewClock(sunday)
	c := joined{centre: twoChurches(t), venue: kvtest.OpenConfig(t, kv.Config{Clock: clock.Now})}
	if err := kv.SetLeaf(c.venue); err != nil {
		t.Fatal(err)
	}
	c.p = enrolled(t, c.centre, "church:1", auth.Venue{Node: c.venue.Tables.Node()})
	id := kvtest.Create(t, c.centre, record.Person, `{"full_name":"Zulmira First","church_id":1}`)
	c.sync(t)
	patched(t, c.centre, record.Person, id, `{"full_name":"Zulmira Second"}`)
	c.sync(t)
	patched(t, c.venue, record.Person, id, `{"full_name":"Zacarias"}`)
	if err := c.centre.Desk.Delete(auth.Operator(), target(record.Person, id)); err != nil {
		t.Fatal(err)
	}
	pull := func() {
		t.Helper()
		if refused := replicated(t, opens(t, c.centre, c.p, "church-1"), c.centre.Tables.Node(), opens(t, c.venue, auth.Operator(), "church-1")); refused != nil {
			t.Fatalf("the laptop refuses %v", refused)
		}
		healthy(t, c.venue)
	}
	pull()
	if r, err := c.venue.Desk.Retrieve(auth.Operator(), target(record.Person, id)); err != nil || member(r.JSON, "full_name") != `"Zacarias"` {
		t.Errorf("the person is %s, %v, want what was made at the laptop", r.JSON, err)
	}
	if n := kv.RowsHolding(t, c.venue, "body", "Zulmira"); n != 0 {
		t.Errorf("the laptop keeps %d bodies on which the deletion stands", n)
	}
	c.sync(t)
	pull()
	if n := kv.RowsHolding(t, c.venue, "body", "Zacarias"); n != 0 {
		t.Errorf("the laptop keeps %d bodies of its own branch, which is deleted too", n)
	}
	if n := kv.RowsHolding(t, c.centre, "body", "Zulmira"); n != 2 {
		t.Errorf("the centre keeps %d bodies, want both", n)
	}
	clock.Move(23 * time.Hour)
	if due, err := c.venue.Erasures.WantsCompacting(); err != nil || !due {
		t.Errorf("WantsCompacting(a day later) = %v, %v, want that the file is written anew", due, err)
	}
}
