package kv_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/erase"
	"doorward/kv/idempotency"
	"doorward/kv/inbox"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/rev"
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
		scanned(t, k.Store, auth.Operator(), door.Attempt{Event: 1, Code: test.code}, outcome.Outcome(test.want))
	}
	k.shows(t, k.Store, "holder_name", "null", "code", `"KEEP"`)
	if r, err := k.Store.Desk.Retrieve(auth.Operator(), target(record.Ticket, k.ticket+1)); err != nil || member(r.JSON, "holder_name") != `"Ana"` {
		t.Errorf("the ticket that was passed on is %s, %v, want Ana's", r.JSON, err)
	}
	if due, _, err := k.Store.Erasures.Uncompacted(); err != nil || due != 5 {
		t.Errorf("due = %d, %v, want 5", due, err)
	}
	k.lacksTraces(t)
	k.Store = reopenable(t, kv.Config{Dir: k.dir})
	defer closed(t, k.Store)
	healthy(t, k.Store)
	if due, _, err := k.Store.Erasures.Uncompacted(); err != nil || due != 0 {
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
		replicated(t, opens(t, k.Store, k.pair.p, name), k.Store.Tables.Identity.Node(), opens(t, k.pair.venue, auth.Operator(), name))
	}
	patched(t, k.pair.venue, record.Ticket, k.ticket, `{"holder_name":"Zacarias Later"}`)
	holding := kv.Present(t, k.Store, k.ticket)
	k.erase(t)
	for _, name := range names {
		replicated(t, opens(t, k.pair.venue, auth.Operator(), name), k.pair.venue.Tables.Identity.Node(), opens(t, k.Store, k.pair.p, name)) // the person is refused
	}
	k.holderAt(t, k.Store, "")
	w := merge.DocWrite{ID: record.HolderName.DocID(holding), Path: chain("a"), Body: fmt.Appendf(nil, `{"event_id":1,"ticket_id":%d,"full_name":"Zacarias Later"}`, k.ticket)}
	door := enrolled(t, k.Store, "event:1", auth.Venue{Names: true}) // of a laptop that may not write it the centre keeps what it refuses
	if err := push(t, opens(t, k.Store, door, "event-1-names"), w); kindOf(err) != "forbidden" {
		t.Errorf("push by a laptop of the event = %v, want forbidden", err)
	}
	k.lacksTraces(t)
	k.Store = reopenable(t, kv.Config{Dir: k.dir})
	healthy(t, k.Store)
}

// A laptop that is told of an erasure keeps nothing of it either.
func TestALaptopErasesWhatTheCentreSays(t *testing.T) {
	k := knowing(t)
	defer closed(t, k.Store)
	for _, name := range []string{"event-1", "event-1-names", "event-1-holders"} {
		replicated(t, opens(t, k.Store, k.pair.p, name), k.Store.Tables.Identity.Node(), opens(t, k.pair.venue, auth.Operator(), name))
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
		replicated(t, opens(t, k.Store, k.pair.p, name), k.Store.Tables.Identity.Node(), opens(t, k.pair.venue, auth.Operator(), name))
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
			k.lacksTraces(t)
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

// An erasure that meets a damaged record is not called done: what cannot be read may hold the name.
func TestAnErasureIsNotDoneOverADamagedRecord(t *testing.T) {
	for _, k := range []*record.Kind{record.Person, record.Membership, record.Ticket, record.HolderName, record.Holder, record.HolderLabel} {
		c := kv.Config{Dir: folder(t), Logger: slog.New(slog.DiscardHandler)}
		s := reopenable(t, c)
		person := kvtest.Create(t, s, record.Person, `{"full_name":"Zacarias"}`)
		group := kvtest.Create(t, s, record.Group, `{"name":"Choir"}`)
		kvtest.Create(t, s, record.Membership, fmt.Sprintf(`{"person":%d,"group_id":%d}`, person, group))
		newTicket(t, s, newEvent(t, s, ""), "KEEP", fmt.Sprintf(`,"holder_name":"Zacarias","person_id":%d`, person))
		closed(t, s)
		for _, r := range rowsAt(t, c.Dir) {
			if r.bucket == "kind:"+k.Name {
				turned(t, c.Dir, r)
			}
		}
		s = reopenable(t, c)
		if _, err := s.Erasures.Erase(auth.Operator(), record.Person, record.Int(person)); !errors.Is(err, engine.ErrCorrupt) {
			t.Errorf("with a damaged %s: %v, want ErrCorrupt", k.Name, err)
		}
		if e, err := s.Erasures.Preview(auth.Operator(), record.Int(person)); !e.ErasedAt.IsZero() {
			t.Errorf("with a damaged %s: the erasure is called done, %v", k.Name, err)
		}
		closed(t, s)
	}
}

// traces are words that stand only in what belongs to the person who is erased.
var traces = []string{"Zacarias", "Zulmira", "zaca@example.org", "zulmira@example.org", "5511987654321", "98765432100", "RG-4711-Z", "Ztreet 9", "Zacarias Q."}

// known is a store that knows a person in every way: at present and before, in branches, in what staff shall look at, and in what
// is kept for keys of idempotency.
type known struct {
	*kv.Store
	dir    string
	person int64
	ticket int64
	old    rev.ID // of the person, before the last change
	pair   joined
}

func knowing(t testing.TB) *known {
	t.Helper()
	k := &known{dir: folder(t)}
	k.Store = reopenable(t, kv.Config{Dir: k.dir})
	for range 2 {
		kvtest.Create(t, k.Store, record.Church, `{"name":"Church"}`)
	}
	event := kvtest.Create(t, k.Store, record.Event, `{"name":"Camp","start_datetime":"2026-11-22T19:00:00Z","church_id":1}`)
	group := kvtest.Create(t, k.Store, record.Group, `{"name":"Choir","church_id":1}`)
	k.person = k.once(t, record.Person, `{"full_name":"Zulmira First","email":"zulmira@example.org","church_id":1}`)
	bystander := kvtest.Create(t, k.Store, record.Person, `{"full_name":"Ana","church_id":1}`)
	member := k.once(t, record.Membership, fmt.Sprintf(`{"person":%d,"group_id":%d}`, k.person, group))
	patched(t, k.Store, record.Membership, member, `{"is_approved":false}`)
	k.ticket = k.once(t, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"KEEP","holder_name":"Zacarias Quintela","email":"zaca@example.org","phone":"+5511987654321","person_id":%d}`, event, k.person))
	passed := kvtest.Create(t, k.Store, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"PASSED","holder_name":"Zacarias Quintela","email":"zaca@example.org","person_id":%d}`, event, k.person))
	patched(t, k.Store, record.Ticket, passed, fmt.Sprintf(`{"holder_name":"Ana","email":"ana@example.org","person_id":%d}`, bystander))
	gone := k.once(t, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"GONE","holder_name":"Zacarias Quintela","email":"zaca@example.org","person_id":%d}`, event, k.person))
	if err := k.Store.Desk.Delete(auth.Operator(), target(record.Ticket, gone)); err != nil {
		t.Fatal(err)
	}
	k.branch(t)
	patched(t, k.Store, record.Person, k.person, `{"full_name":"Zacarias Q","cpf":"98765432100","rg":"RG-4711-Z","phone":"+5511987654321","location":{"street":"Ztreet 9"}}`)
	tree := kv.TreeOf(t, k.Store, record.Person, k.person)
	k.old = tree.Winner().Revision
	patched(t, k.Store, record.Person, k.person, `{"occupation":"baker"}`)
	k.refusals(t)
	return k
}

// once makes a record with an Idempotency-Key.
func (k *known) once(t testing.TB, kind *record.Kind, body string) int64 {
	t.Helper()
	at := desk.Target{Surface: record.Admin, Kind: kind, Once: &idempotency.Request{Key: sha256.Sum256([]byte(body))}}
	r, err := k.Store.Desk.Create(auth.Operator(), at, kvtest.Parse(t, kind, body, true))
	if err != nil {
		t.Fatalf("create %s: %v", body, err)
	}
	return r.ID.Int()
}

// meets has the centre enrol a new laptop.
func (k *known) meets(t testing.TB, of auth.Level) {
	t.Helper()
	k.pair = joined{centre: k.Store, venue: kvtest.Open(t)}
	if err := kv.SetLeaf(k.pair.venue); err != nil {
		t.Fatal(err)
	}
	k.enrols(t, of)
}

// branch has a laptop and the centre change one field, which leaves a loser, its body and a conflict.
func (k *known) branch(t testing.TB) {
	t.Helper()
	k.pair = joined{centre: k.Store, venue: kvtest.Open(t)}
	if err := kv.SetLeaf(k.pair.venue); err != nil {
		t.Fatal(err)
	}
	k.pair.p = enrolled(t, k.Store, "church:1", auth.Venue{Node: k.pair.venue.Tables.Identity.Node(), Names: true})
	k.pair.sync(t)
	patched(t, k.Store, record.Person, k.person, `{"full_name":"Zulmira Centre"}`)
	patched(t, k.pair.venue, record.Person, k.person, `{"full_name":"Zacarias Laptop"}`)
	if refused := k.pair.sync(t); refused != nil {
		t.Fatalf("refused: %v", refused)
	}
	if n := pageOf(t, k.Store, record.Conflict).Count; n == 0 {
		t.Fatal("there is no conflict")
	}
}

// refusals pushes what is not taken: of the person, and of a ticket that names the person.
func (k *known) refusals(t testing.TB) {
	t.Helper()
	key := kvtest.Login(t, k.Store, "church:1", "sync:*", "people:*", "group:GET", "memberships:*", "event:GET")
	for _, w := range []merge.DocWrite{
		{ID: record.Person.DocID(record.Int(k.person)), Path: chain("a"), Body: []byte(`{"full_name":"Zacarias Refused","unknown":1}`)},
		{ID: "membership:0000000000000077", Path: chain("a"), Body: fmt.Appendf(nil, `{"person":%d,"group_id":1,"note":"Zulmira"}`, k.person)},
	} {
		results, err := opens(t, k.Store, key, "church-1").Write([]merge.DocWrite{w})
		if err != nil || kindOf(results[0].Err) != "forbidden" {
			t.Fatalf("push = %+v, %v, want a refusal", results, err)
		}
	}
}

// erase erases the person.
func (k *known) erase(t testing.TB) erase.Erased {
	t.Helper()
	e, err := k.Store.Erasures.Erase(auth.Operator(), record.Person, record.Int(k.person))
	if err != nil {
		t.Fatalf("erase: %v", err)
	}
	return e
}

// traced are the traces in the files of a folder.
func traced(t testing.TB, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		text = kvtest.Lower(text)
		for _, trace := range traces {
			if bytes.Contains(text, []byte(strings.ToLower(trace))) {
				found = append(found, trace+" in "+e.Name())
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// compacted writes the store's file anew and closes it.
func (k *known) compacted(t testing.TB) {
	t.Helper()
	if _, err := k.Store.Files.Compact(t.Context(), auth.Operator()); err != nil {
		t.Fatalf("compact: %v", err)
	}
	closed(t, k.Store)
}

// lacksTraces compacts and closes the centre, and wants no file of its folder to tell of the person.
func (k *known) lacksTraces(t testing.TB) {
	t.Helper()
	k.compacted(t)
	if found := traced(t, k.dir); found != nil {
		t.Errorf("the centre holds %v", found)
	}
}

// TestAnErasedPersonIsInNothingThatStaffHaveSettled: the file keeps the body of a refusal and of a conflict that is off the list.
func TestAnErasedPersonIsInNothingThatStaffHaveSettled(t *testing.T) {
	k := knowing(t)
	for _, r := range matters(t, k.Store, auth.Operator(), record.Refusal) {
		if _, err := k.Store.Inbox.Resolve(auth.Operator(), inbox.Item{Kind: record.Refusal, ID: r.ID}, inbox.Choice{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range matters(t, k.Store, auth.Operator(), record.Conflict) {
		if _, err := k.Store.Inbox.Resolve(auth.Operator(), inbox.Item{Kind: record.Conflict, ID: r.ID}, inbox.Choice{}); err != nil {
			t.Fatal(err)
		}
	}
	k.erase(t)
	healthy(t, k.Store)
	k.lacksTraces(t)
}
