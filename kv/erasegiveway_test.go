package kv_test

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/table"
)

// TestALaptopOfTheEventKeepsNoErasedName: though it has changed the name more often than the centre, whose revisions lose.
func TestALaptopOfTheEventKeepsNoErasedName(t *testing.T) {
	k := knowing(t)
	defer closed(t, k.Store)
	k.meets(t, auth.Level{Name: auth.EventOf, IDs: []int64{1}})
	names := ticketDBs[:2]
	exchange := func() {
		for _, name := range names {
			here, there := opens(t, k.pair.venue, auth.Operator(), name), opens(t, k.Store, k.pair.p, name)
			replicated(t, here, k.pair.venue.Tables.Node(), there)
			replicated(t, there, k.Store.Tables.Node(), here)
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
		if k.pair.venue.Erasures.ErasuresUnfinished() == 0 {
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
