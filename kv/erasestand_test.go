package kv_test

import (
	"fmt"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
)

// A name that a laptop gives a ticket once it has heard of the erasure is somebody else's, whatever it had made of the ticket before.
func TestANameThatALaptopGivesOnceItIsToldStays(t *testing.T) {
	tell, push, pull := (*known).tells, func(k *known, t testing.TB) { k.pushes(t) }, (*known).pulls
	name := func(k *known, t testing.TB) {
		patched(t, k.pair.venue, record.Ticket, k.ticket, `{"holder_name":"Ana Lua"}`)
	}
	type steps []func(*known, testing.TB)
	for _, test := range []struct {
		name  string
		edits int // before all, which nobody has brought
		steps steps
	}{
		{"no edit before", 0, steps{tell, name, push, pull}},
		{"one edit before", 1, steps{tell, name, push, pull}},
		{"two edits before", 2, steps{tell, name, push, pull}},
		{"pulled before the push", 1, steps{tell, name, pull, push, pull}},
		{"named once the edits are brought", 2, steps{tell, push, name, push, pull}},
		{"brought before it is told", 1, steps{push, tell, name, push, pull}},
		{"told twice", 2, steps{tell, name, push, tell, pull}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			k := late(t)
			k.pulls(t)
			for range test.edits {
				patched(t, k.pair.venue, record.Ticket, k.ticket, lateEdit)
			}
			k.erase(t)
			for _, step := range test.steps {
				step(k, t)
			}
			k.leavesOnly(t, "Ana Lua")
		})
	}
}

// leavesOnly wants the centre and the laptop to agree that a ticket has this holder, and to have nothing of who is erased.
func (k *known) leavesOnly(t testing.TB, holder string) {
	t.Helper()
	k.agrees(t, ticketDBs...)
	for _, s := range []*kv.Store{k.Store, k.pair.venue} {
		k.holderAt(t, s, holder)
		healthy(t, s)
	}
	k.venueLacksTraces(t)
	k.compacted(t)
	if found := traced(t, k.dir); found != nil {
		t.Errorf("the centre holds %v", found)
	}
}

// A ticket that a laptop has given to somebody else while it was cut off is that person's, with what it wrote of them and nothing of who
// had it before.
func TestATicketThatALaptopPassedOnStaysWithWhoHasIt(t *testing.T) {
	for _, test := range []struct {
		name  string
		edits []string // one after the other; %d is somebody living
	}{
		{"to a person", []string{`{"holder_name":"Ana Lua","email":"ana@example.org","person_id":%d}`}},
		{"to a person, one thing after the other", []string{`{"person_id":%d}`, `{"holder_name":"Ana Lua"}`, `{"email":"ana@example.org"}`}},
		{"to a person, after its own change", []string{lateEdit, `{"holder_name":"Ana Lua","email":"ana@example.org","person_id":%d}`}},
		{"to somebody who is not on record", []string{`{"holder_name":"Ana Lua","email":"ana@example.org","person_id":null}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			k := late(t)
			ana := kvtest.Create(t, k.Store, record.Person, `{"full_name":"Ana Lua","church_id":1}`)
			k.pair.sync(t)
			k.pulls(t)
			for _, edit := range test.edits {
				patched(t, k.pair.venue, record.Ticket, k.ticket, strings.ReplaceAll(edit, "%d", fmt.Sprint(ana)))
			}
			k.erase(t)
			k.tells(t)
			if refused := k.pushes(t); refused != nil {
				t.Errorf("refused: %v", refused)
			}
			k.pulls(t)
			r, err := k.Store.Desk.Retrieve(auth.Operator(), target(record.Ticket, k.ticket))
			if err != nil || member(r.JSON, "label") != `"Ana L."` || member(r.JSON, "email") != `"ana@example.org"` || member(r.JSON, "phone") != "null" {
				t.Errorf("the ticket is %s, %v, want all that was written of Ana, and no phone", r.JSON, err)
			}
			k.leavesOnly(t, "Ana Lua")
		})
	}
}

// What a laptop lets stand upon the revision without names may be refused: that one is what the ticket is then, there too.
func TestALaptopGivesWayToTheRevisionWithoutNames(t *testing.T) {
	k := knowing(t)
	defer closed(t, k.Store)
	k.meets(t, auth.Level{Name: auth.EventOf, IDs: []int64{1}})
	here, there := opens(t, k.pair.venue, auth.Operator(), "event-1"), opens(t, k.Store, k.pair.p, "event-1")
	replicated(t, there, k.Store.Tables.Node(), here)
	patched(t, k.pair.venue, record.Ticket, k.ticket, `{"order":"A7"}`)
	k.erase(t)
	k.tells(t)
	if refused := replicated(t, here, k.pair.venue.Tables.Node(), there); len(refused) != 1 {
		t.Fatalf("refused: %v, want the order", refused)
	}
	tree := kv.TreeOf(t, k.pair.venue, record.Ticket, k.ticket)
	refused := merge.Revs{ID: record.Ticket.DocID(record.Int(k.ticket)), Revisions: []rev.ID{tree.Winner().Revision}}
	if err := k.pair.venue.Laptop.GiveWay(auth.Operator(), []merge.Revs{refused}); err != nil {
		t.Fatal(err)
	}
	replicated(t, there, k.Store.Tables.Node(), here)
	k.agrees(t, "event-1")
	healthy(t, k.pair.venue)
}

// Who was given the ticket is erased as well: nothing stays of either.
func TestATicketThatALaptopPassedOnToWhoIsErasedTooHasNoName(t *testing.T) {
	tell, push, pull := (*known).tells, func(k *known, t testing.TB) { k.pushes(t) }, (*known).pulls
	for _, test := range []struct {
		name  string
		told  bool // of the first before it passes the ticket on
		steps []func(*known, testing.TB)
	}{
		{"before it was told", false, []func(*known, testing.TB){tell, (*known).venueLacksTraces, push, pull}},
		{"once it was told", true, []func(*known, testing.TB){tell, (*known).venueLacksTraces, push, pull}},
		{"and brought before it is told of the second", true, []func(*known, testing.TB){push, tell, pull}},
		{"and brought without being told of the second", true, []func(*known, testing.TB){push, pull, tell}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			k := late(t)
			next := kvtest.Create(t, k.Store, record.Person, `{"full_name":"Zulmira Next","church_id":1}`)
			k.pair.sync(t)
			k.pulls(t)
			pass := func() {
				patched(t, k.pair.venue, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":"Zulmira Next","email":"zulmira@example.org","person_id":%d}`, next))
			}
			if !test.told {
				pass()
			}
			k.erase(t)
			k.tells(t)
			if test.told {
				pass()
			}
			erased(t, k.Store, next)
			for _, step := range test.steps {
				step(k, t)
			}
			kv.AwaitErasures(t, k.Store) // the centre finds out by what is brought
			k.tells(t)
			k.pulls(t)
			k.leavesOnly(t, "")
		})
	}
}
