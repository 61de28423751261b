package kv_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/erase"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// After an erasure and a compaction no byte of the folder tells of the person, and everything else is as it was.
func TestAnErasedPersonLeavesNoBytes(t *testing.T) {
	k := knowing(t)
	if found := traced(t, k.dir); len(found) < len(traces) {
		t.Fatalf("before: %v, want all of %v", found, traces)
	}
	e := k.erase(t)
	if want := (erase.Erased{Tickets: 2, Memberships: 1, Conflicts: e.Conflicts, Refusals: 2, Answers: 4}); e != want || e.Conflicts == 0 {
		t.Errorf("Erase = %+v, want %+v", e, want)
	}
	healthy(t, k.Store)
	for _, test := range []struct{ code, want string }{{"KEEP", "admitted"}, {"PASSED", "admitted"}} {
		scanned(t, k.Store, auth.Operator(), door.Attempt{Event: 1, Code: test.code}, table.Outcome(test.want))
	}
	if r, err := k.Store.Desk.Retrieve(auth.Operator(), target(record.Ticket, k.ticket)); err != nil || member(r.JSON, "holder_name") != "null" || member(r.JSON, "code") != `"KEEP"` {
		t.Errorf("the ticket is %s, %v, want its code and no name", r.JSON, err)
	}
	if r, err := k.Store.Desk.Retrieve(auth.Operator(), target(record.Ticket, k.ticket+1)); err != nil || member(r.JSON, "holder_name") != `"Ana"` {
		t.Errorf("the ticket that was passed on is %s, %v, want Ana's", r.JSON, err)
	}
	if due, _, err := k.Store.Erasures.ErasuresDue(); err != nil || due != 5 {
		t.Errorf("due = %d, %v, want 5", due, err)
	}
	k.compacted(t)
	if found := traced(t, k.dir); found != nil {
		t.Errorf("after: %v", found)
	}
	k.Store = reopenable(t, kv.Config{Dir: k.dir})
	defer closed(t, k.Store)
	healthy(t, k.Store)
	if due, _, err := k.Store.Erasures.ErasuresDue(); err != nil || due != 0 {
		t.Errorf("due after compacting = %d, %v, want none", due, err)
	}
}

// No replica brings an erased person back: what it has is called known, what it pushes is refused and not kept, and what it asks
// for is the empty tombstone.
func TestNoReplicaBringsAnErasedPersonBack(t *testing.T) {
	k := knowing(t)
	defer closed(t, k.Store)
	doc := record.Person.DocID(record.Int(k.person))
	patched(t, k.pair.venue, record.Person, k.person, `{"full_name":"Zacarias Again"}`)
	k.erase(t)
	refusals := pageOf(t, k.Store, record.Refusal).Count
	db := opens(t, k.Store, k.pair.p, "church-1")
	unknown := rev.ID{Generation: 9, Hash: [16]byte{9}}
	if m, err := db.Missing([]merge.Revs{{ID: doc, Revisions: []rev.ID{k.old, unknown}}}); err != nil || m[0].Missing != nil {
		t.Errorf("Missing = %+v, %v, want nothing", m, err)
	}
	for _, revs := range [][]rev.ID{nil, {k.old}, {unknown}} {
		d, err := db.Read(doc, docs.Ask{Revisions: revs})
		if err != nil || len(d.Revisions) == 0 || !d.Revisions[0].Deleted || string(d.Revisions[0].Body) != "{}" {
			t.Errorf("Read(%v) = %+v, %v, want an empty tombstone", revs, d.Revisions, err)
		}
	}
	tree := kv.TreeOf(t, k.pair.venue, record.Person, k.person)
	last := tree.Winner().Revision
	for _, w := range []merge.DocWrite{
		{ID: doc, Path: tree.Path(last), Body: []byte(`{"full_name":"Zacarias Again","church_id":1}`)},
		{ID: "membership:4503599627370499", Path: chain("a"), Body: fmt.Appendf(nil, `{"person":%d,"group_id":1}`, k.person)},
	} {
		results, err := db.Write([]merge.DocWrite{w})
		if err != nil || kindOf(results[0].Err) != "forbidden" {
			t.Errorf("push of %s = %+v, %v, want forbidden", w.ID, results, err)
		}
	}
	if n := pageOf(t, k.Store, record.Refusal).Count; n != refusals {
		t.Errorf("%d refusals, want %d", n, refusals)
	}
	if _, err := k.Store.Desk.Upsert(auth.Operator(), []entry.Row{row(t, record.Person, k.person, `{"full_name":"Zacarias"}`)}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Store.Desk.Retrieve(auth.Operator(), target(record.Person, k.person)); kindOf(err) != "not found" {
		t.Errorf("the person is back: %v", err)
	}
	k.pair.sync(t)
	if got := bodyOf(t, opens(t, k.pair.venue, auth.Operator(), "church-1"), doc); strings.Contains(got, "Zulmira") {
		t.Errorf("the laptop has %s", got)
	}
	healthy(t, k.Store)
}

// What a laptop made of an erased person's ticket before it heard of the erasure comes without the person's names.
func TestATicketThatComesLateComesWithoutErasedNames(t *testing.T) {
	k := knowing(t)
	defer closed(t, k.Store)
	names := []string{"event-1", "event-1-names", "event-1-holders"}
	for _, name := range names {
		replicated(t, opens(t, k.Store, k.pair.p, name), k.Store.Tables.Node(), opens(t, k.pair.venue, auth.Operator(), name))
	}
	patched(t, k.pair.venue, record.Ticket, k.ticket, `{"holder_name":"Zacarias Later"}`)
	holding := kv.Present(t, k.Store, k.ticket)
	k.erase(t)
	for _, name := range names {
		replicated(t, opens(t, k.pair.venue, auth.Operator(), name), k.pair.venue.Tables.Node(), opens(t, k.Store, k.pair.p, name)) // the person is refused
	}
	r, err := k.Store.Desk.Retrieve(auth.Operator(), target(record.Ticket, k.ticket))
	if err != nil || member(r.JSON, "holder_name") != "null" {
		t.Errorf("the ticket is %s, %v, want no name", r.JSON, err)
	}
	w := merge.DocWrite{ID: record.HolderName.DocID(holding), Path: chain("a"), Body: fmt.Appendf(nil, `{"event_id":1,"ticket_id":%d,"full_name":"Zacarias Later"}`, k.ticket)}
	door := enrolled(t, k.Store, "event:1", auth.Venue{Names: true}) // of a laptop that may not write it the centre keeps what it refuses
	if err := push(t, opens(t, k.Store, door, "event-1-names"), w); kindOf(err) != "forbidden" {
		t.Errorf("push by a laptop of the event = %v, want forbidden", err)
	}
	k.compacted(t)
	if found := traced(t, k.dir); found != nil {
		t.Errorf("after: %v", found)
	}
	k.Store = reopenable(t, kv.Config{Dir: k.dir})
	healthy(t, k.Store)
}

// A laptop that is told of an erasure keeps nothing of it either.
func TestALaptopErasesWhatTheCentreSays(t *testing.T) {
	k := knowing(t)
	defer closed(t, k.Store)
	for _, name := range []string{"event-1", "event-1-names", "event-1-holders"} {
		replicated(t, opens(t, k.Store, k.pair.p, name), k.Store.Tables.Node(), opens(t, k.pair.venue, auth.Operator(), name))
	}
	k.erase(t)
	var told []merge.DocWrite
	all := opens(t, k.Store, auth.Operator(), "records")
	for _, id := range pageOf(t, k.Store, record.Erasure).IDs {
		d, err := all.Read(record.Erasure.DocID(id), docs.Ask{})
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, merge.DocWrite{ID: d.ID, Path: d.Tree.Path(d.Revisions[0].Revision), Body: d.Revisions[0].Body})
	}
	kv.ShareCodeKey(t, k.Store, k.pair.venue)
	if _, err := opens(t, k.pair.venue, auth.Operator(), "records").Write(told); err != nil {
		t.Fatal(err)
	}
	kv.AwaitErasures(t, k.pair.venue)
	for _, name := range []string{"church-1", "event-1", "event-1-names", "event-1-holders"} {
		replicated(t, opens(t, k.Store, k.pair.p, name), k.Store.Tables.Node(), opens(t, k.pair.venue, auth.Operator(), name))
	}
	k.venueLacksTraces(t)
	healthy(t, k.pair.venue)
}

// Whatever step an erasure ends at, the next start finishes it.
func TestAnErasureIsFinishedAfterACrash(t *testing.T) {
	errKilled := errors.New("killed")
	var steps []string
	k := knowing(t)
	kv.StopErasing(k.Store, func(step string) error {
		if !slices.Contains(steps, step) {
			steps = append(steps, step)
		}
		return nil
	})
	k.erase(t)
	closed(t, k.Store)
	if len(steps) < 9 {
		t.Fatalf("steps = %v", steps)
	}
	for _, at := range steps {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			k := knowing(t)
			kv.StopErasing(k.Store, func(step string) error {
				if step == at {
					return errKilled
				}
				return nil
			})
			if _, err := k.Store.Erasures.Erase(auth.Operator(), record.Person, record.Int(k.person)); !errors.Is(err, errKilled) {
				t.Fatalf("Erase = %v", err)
			}
			closed(t, k.Store)
			k.Store = reopenable(t, kv.Config{Dir: k.dir})
			healthy(t, k.Store)
			k.compacted(t)
			if found := traced(t, k.dir); found != nil {
				t.Errorf("after: %v", found)
			}
		})
	}
}

func TestWhoMayErase(t *testing.T) {
	k := knowing(t)
	defer closed(t, k.Store)
	for _, test := range []struct {
		p    auth.Principal
		kind *record.Kind
		id   int64
		want string
	}{
		{kvtest.Login(t, k.Store, "church:1", "*:*"), record.Person, k.person, "forbidden"},
		{kvtest.Login(t, k.Store, "denomination", "people:*"), record.Person, k.person, "forbidden"},
		{auth.Operator(), record.Person, 999, "not found"},
		{auth.Operator(), record.Group, 1, "not found"},
	} {
		if _, err := k.Store.Erasures.Erase(test.p, test.kind, record.Int(test.id)); kindOf(err) != test.want {
			t.Errorf("Erase(%s %d) = %v, want %s", test.kind.Name, test.id, err, test.want)
		}
	}
	if _, err := k.pair.venue.Erasures.Erase(auth.Operator(), record.Person, record.Int(k.person)); kindOf(err) != "conflict" {
		t.Errorf("at a laptop: %v, want conflict", err)
	}
}
