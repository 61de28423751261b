package kv_test

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
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
	k.lacksTraces(t)
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
			ana := k.shared(t, "Ana Lua")
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
	replicated(t, there, k.Store.Tables.Identity.Node(), here)
	patched(t, k.pair.venue, record.Ticket, k.ticket, `{"order":"A7"}`)
	k.erase(t)
	k.tells(t)
	if refused := replicated(t, here, k.pair.venue.Tables.Identity.Node(), there); len(refused) != 1 {
		t.Fatalf("refused: %v, want the order", refused)
	}
	tree := kv.TreeOf(t, k.pair.venue, record.Ticket, k.ticket)
	refused := merge.Revs{ID: record.Ticket.DocID(record.Int(k.ticket)), Revisions: []rev.ID{tree.Winner().Revision}}
	if err := k.pair.venue.Laptop.TakeBack(auth.Operator(), []merge.Revs{refused}); err != nil {
		t.Fatal(err)
	}
	replicated(t, there, k.Store.Tables.Identity.Node(), here)
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
			next := k.shared(t, "Zulmira Next")
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

// TestALaptopOfTheEventKeepsNoErasedName: though it has changed the name more often than the centre, whose revisions lose.
func TestALaptopOfTheEventKeepsNoErasedName(t *testing.T) {
	k := knowing(t)
	defer closed(t, k.Store)
	k.meets(t, auth.Level{Name: auth.EventOf, IDs: []int64{1}})
	names := ticketDBs[:2]
	exchange := func() {
		for _, name := range names {
			here, there := opens(t, k.pair.venue, auth.Operator(), name), opens(t, k.Store, k.pair.p, name)
			replicated(t, here, k.pair.venue.Tables.Identity.Node(), there)
			replicated(t, there, k.Store.Tables.Identity.Node(), here)
		}
	}
	exchange()
	for _, name := range []string{"Zulmira Before", "Zacarias Middle", "Zacarias Later"} {
		patched(t, k.pair.venue, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":%q}`, name))
	}
	patched(t, k.Store, record.Ticket, k.ticket, `{"holder_name":"Zulmira Centre"}`)
	k.erase(t)
	exchange()
	k.tells(t)
	exchange()
	k.agrees(t, names...)
	k.venueLacksTraces(t)
	healthy(t, k.pair.venue)
}

// TestALaptopThatIsGivenNothingMoreKeepsNoErasedName: the centre's revisions without names do not come to one that is revoked. Whoever had
// the ticket next when it was told keeps it.
func TestALaptopThatIsGivenNothingMoreKeepsNoErasedName(t *testing.T) {
	for _, next := range []string{"", "Ana Lua"} {
		k := late(t)
		k.pulls(t)
		if next == "" {
			patched(t, k.pair.venue, record.Ticket, k.ticket, lateEdit)
		}
		k.erase(t)
		if next != "" {
			patched(t, k.Store, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":%q}`, next))
			k.pulls(t)
		}
		var whole atomic.Bool // the cause is gone
		kv.StopErasing(k.pair.venue, func(string) error {
			if whole.Load() {
				return nil
			}
			return os.ErrDeadlineExceeded
		})
		k.hears(t)
		if k.pair.venue.Erasures.Unfinished() == 0 {
			t.Fatal("the erasure does not fail")
		}
		if all := leavesOf(t, k.pair.venue, "event-1-names"); next != "" && !strings.Contains(all[record.HolderName.DocID(kv.Present(t, k.pair.venue, k.ticket))], next) {
			t.Errorf("while the names are being erased a reader sees %v, want %s", all, next)
		}
		whole.Store(true)
		kv.AwaitErasures(t, k.pair.venue)
		r, err := k.pair.venue.Desk.Retrieve(auth.Operator(), target(record.Ticket, k.ticket))
		if name := member(r.JSON, "holder_name"); err != nil || name != map[string]string{"": "null", "Ana Lua": `"Ana Lua"`}[next] {
			t.Errorf("the holder is %s, %v, want %q", name, err, next)
		}
		k.venueLacksTraces(t)
		healthy(t, k.pair.venue)
		closed(t, k.Store)
	}
}

// TestANameStaysHoweverOftenItIsChangedAfterAnErasure: also where the path to the first revision without one is forgotten.
func TestANameStaysHoweverOftenItIsChangedAfterAnErasure(t *testing.T) {
	k := late(t)
	defer closed(t, k.Store)
	k.erase(t)
	k.pulls(t)
	k.tells(t)
	for i := range table.RevsLimit + 5 {
		patched(t, k.pair.venue, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":"Ana %d","email":"ana%d@example.org","order":"A%d"}`, i, i, i))
		k.pushes(t)
	}
	r, err := k.Store.Desk.Retrieve(auth.Operator(), target(record.Ticket, k.ticket))
	if name := member(r.JSON, "holder_name"); err != nil || name != fmt.Sprintf(`"Ana %d"`, table.RevsLimit+4) {
		t.Errorf("the holder is %s, %v", name, err)
	}
	k.agrees(t, ticketDBs...)
}

// TestWhoHasATicketNextIsNotTakenForALateName: where another laptop has brought one meanwhile, the centre knows two first revisions without
// names, and the new holder stands on one of them.
func TestWhoHasATicketNextIsNotTakenForALateName(t *testing.T) {
	k := late(t)
	defer closed(t, k.Store)
	first, second := k.two(t)
	patched(t, first.venue, record.Ticket, k.ticket, lateEdit)
	k.erase(t)
	k.tells(t)
	k.pulls(t)
	patched(t, second.venue, record.Ticket, k.ticket, `{"holder_name":"Ana Lua"}`)
	for _, k.pair = range []joined{first, second} {
		k.pushes(t)
	}
	r, err := k.Store.Desk.Retrieve(auth.Operator(), target(record.Ticket, k.ticket))
	found := string(r.JSON)
	for _, r := range matters(t, k.Store, auth.Operator(), record.Conflict) {
		found += string(r.JSON)
	}
	if err != nil || !strings.Contains(found, `"Ana Lua"`) {
		t.Errorf("the ticket, and what staff shall look at, are %s, %v, want Ana Lua", found, err)
	}
}
