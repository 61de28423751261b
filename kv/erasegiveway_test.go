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
	"doorward/kv/table"
)

// TestALaptopOfTheEventTakesBackTheNamesThatAreRefused: for the centre's revision without names, which it must have kept although its own
// won over it until then.
func TestALaptopOfTheEventTakesBackTheNamesThatAreRefused(t *testing.T) {
	k := knowing(t)
	defer closed(t, k.Store)
	k.meets(t, auth.Level{Name: auth.EventOf, IDs: []int64{1}})
	names := ticketDBs[:2]
	exchange := func(push bool) {
		for i, name := range names {
			here, there := opens(t, k.pair.venue, auth.Operator(), name), opens(t, k.Store, k.pair.p, name)
			if !push {
				replicated(t, there, k.Store.Tables.Node(), here)
				continue
			}
			if replicated(t, here, k.pair.venue.Tables.Node(), there) == nil {
				t.Errorf("the centre refuses nothing of %s", name)
			}
			kind := []*record.Kind{record.Ticket, record.HolderName}[i]
			tree := kv.TreeOf(t, k.pair.venue, kind, k.ticket)
			refused := merge.Revs{ID: kind.DocID(record.Int(k.ticket)), Revisions: tree.Path(tree.Winner().Revision)}
			missing, err := there.Missing([]merge.Revs{refused})
			if err != nil {
				t.Fatal(err)
			}
			refused.Revisions = missing[0].Missing
			if err := k.pair.venue.Laptop.GiveWay(auth.Operator(), []merge.Revs{refused}); err != nil {
				t.Fatal(err)
			}
		}
	}
	exchange(false)
	for _, name := range []string{"Zulmira Before", "Zacarias Middle", "Zacarias Later"} { // three edits win over what the centre has made
		patched(t, k.pair.venue, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":%q}`, name))
	}
	patched(t, k.Store, record.Ticket, k.ticket, `{"holder_name":"Zulmira Centre"}`) // the laptop cannot tell what was made of that
	k.erase(t)
	k.tells(t)
	for _, push := range []bool{true, false, true} {
		exchange(push)
	}
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
		if k.pair.venue.Erasures.ErasuresUnfinished() == 0 {
			t.Fatal("the erasure does not fail")
		}
		if all := leavesOf(t, k.pair.venue, "event-1-names"); next != "" && !strings.Contains(all[record.HolderName.DocID(record.Int(k.ticket))], next) {
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
