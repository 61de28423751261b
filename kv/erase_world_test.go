package kv_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/erase"
	"doorward/kv/inbox"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
)

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
	at := desk.Target{Surface: record.Admin, Kind: kind, Once: &desk.Once{Key: sha256.Sum256([]byte(body))}}
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
	k.pair.p = enrolled(t, k.Store, "church:1", auth.Venue{Node: k.pair.venue.Tables.Node(), Names: true})
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

// TestAnErasedPersonIsInNothingThatStaffHaveSettled: the file keeps the body of a refusal and of a conflict that is off the list.
func TestAnErasedPersonIsInNothingThatStaffHaveSettled(t *testing.T) {
	k := knowing(t)
	for _, r := range matters(t, k.Store, auth.Operator(), record.Refusal) {
		if err := k.Store.Inbox.ResolveRefusal(auth.Operator(), r.ID, false); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range matters(t, k.Store, auth.Operator(), record.Conflict) {
		if err := k.Store.Inbox.ResolveConflict(auth.Operator(), r.ID, inbox.Choice{}); err != nil {
			t.Fatal(err)
		}
	}
	k.erase(t)
	healthy(t, k.Store)
	k.compacted(t)
	if found := traced(t, k.dir); found != nil {
		t.Errorf("after: %v", found)
	}
}
