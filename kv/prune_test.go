package kv_test

import (
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
)

// TestALaptopKeepsNothingOfWhatWasDeletedElsewhere: who is erased there is in none of its bytes once the file is written anew. The root
// keeps what it deletes, for it can give that back, and a branch that was made at the laptop stays until a deletion stands on it too.
func TestALaptopKeepsNothingOfWhatWasDeletedElsewhere(t *testing.T) {
	clock := kvtest.NewClock(sunday)
	c := joined{centre: twoChurches(t), venue: kvtest.OpenConfig(t, kv.Config{Clock: clock.Now})}
	if err := kv.SetLeaf(c.venue); err != nil {
		t.Fatal(err)
	}
	c.p = enrolled(t, c.centre, "church:1", auth.Venue{Node: c.venue.Tables.Identity.Node()})
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
		if refused := replicated(t, opens(t, c.centre, c.p, "church-1"), c.centre.Tables.Identity.Node(), opens(t, c.venue, auth.Operator(), "church-1")); refused != nil {
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

// TestALaptopKeepsNoEarlierBodyOfAHolding: a name that was corrected at the centre may be the name of a person who is erased there.
func TestALaptopKeepsNoEarlierBodyOfAHolding(t *testing.T) {
	c := atOneEvent(t)
	id := newTicket(t, c.centre, 1, "CODE", `,"holder_name":"Zulmira Souza","email":"zulmira@example.org"`)
	c.exchange(t)
	patched(t, c.centre, record.Ticket, id, `{"holder_name":"Ana Souza","email":"ana@example.org"}`)
	c.exchange(t)
	for _, word := range []string{"Zulmira", "zulmira@"} {
		if n := kv.RowsHolding(t, c.venue, "body", word); n != 0 {
			t.Errorf("the laptop keeps %d bodies with %s", n, word)
		}
		if n := kv.RowsHolding(t, c.centre, "body", word); n == 0 {
			t.Errorf("the centre has not kept %s either, so this test sees nothing", word)
		}
	}
	if r, err := c.venue.Desk.Retrieve(auth.Operator(), target(record.Ticket, id)); err != nil || member(r.JSON, "holder_name") != `"Ana Souza"` {
		t.Errorf("the ticket is %s, %v, want Ana's", r.JSON, err)
	}
	healthy(t, c.venue)
}

// TestATombstoneWithoutAnAuthorIsAnotherStores: a peer that tells no author, as CouchDB, has deleted the record too.
func TestATombstoneWithoutAnAuthorIsAnotherStores(t *testing.T) {
	c := newPair(t)
	id := kvtest.Create(t, c.centre, record.Person, `{"full_name":"Zulmira First","church_id":1}`)
	c.sync(t)
	patched(t, c.centre, record.Person, id, `{"full_name":"Ana"}`)
	c.sync(t)
	here := opens(t, c.venue, auth.Operator(), "church-1")
	doc, err := here.Read(record.Person.DocID(record.Int(id)), docs.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	path := append([]rev.ID{rev.Ending(doc.Revisions[0].Revision)}, doc.Tree.Path(doc.Revisions[0].Revision)...)
	if err := push(t, here, merge.DocWrite{ID: doc.ID, Path: path, Deleted: true}); err != nil {
		t.Fatal(err)
	}
	if n := kv.RowsHolding(t, c.venue, "body", "Zulmira") + kv.RowsHolding(t, c.venue, "body", "Ana"); n != 0 {
		t.Errorf("the laptop keeps %d bodies below the tombstone", n)
	}
	healthy(t, c.venue)
}
