package kv_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/entry"
	"doorward/kv/idempotency"
	"doorward/kv/inbox"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/table"
)

// released takes all that a database holds out of the file.
func released(t testing.TB, s *kv.Store, name string) {
	t.Helper()
	info, err := opens(t, s, auth.Operator(), name).Info()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Laptop.Release(auth.Operator(), name, info.Seq); err != nil {
		t.Fatalf("Release(%s) = %v", name, err)
	}
}

// What a laptop has handed over goes with the rest of its database: unknown kinds, and what says that something has left.
func TestAReleasedDatabaseIsEmpty(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	s := kvtest.OpenConfig(t, kv.Config{Clock: clock.Now})
	kvtest.Create(t, s, record.Church, `{"name":"A"}`)
	kvtest.Create(t, s, record.Church, `{"name":"B"}`)
	stays := kvtest.Create(t, s, record.Person, `{"full_name":"Eva","church_id":2}`)
	left := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	kvtest.Create(t, s, record.Person, `{"full_name":"Rui","church_id":1}`)
	patched(t, s, record.Person, left, `{"church_id":2}`)
	db := opens(t, s, auth.Operator(), "church-1")
	for _, path := range []string{"a", "ba"} {
		if err := push(t, db, merge.DocWrite{ID: "psalm:1", Path: chain(path), Body: []byte(`{"verse":1}`)}); err != nil {
			t.Fatal(err)
		}
	}
	released(t, s, "church-1")
	page, _, err := db.Changes(docs.Feed{Limit: 10})
	if info, e := db.Info(); err != nil || e != nil || len(page) != 0 || info.Docs != 0 || info.Seq != 0 {
		t.Errorf("afterwards the database has %+v, %+v, %v %v, want nothing", info, page, err, e)
	}
	if n := kv.Rows(t, s, "opaque") + kv.Rows(t, s, "opaque_body") + kv.Rows(t, s, "left"); n != 0 {
		t.Errorf("%d rows of it are left in the file", n)
	}
	for _, id := range []int64{stays, left} {
		if _, err := s.Desk.Retrieve(auth.Operator(), target(record.Person, id)); err != nil {
			t.Errorf("person %d of another church: %v", id, err)
		}
	}
	clock.Move(23 * time.Hour)
	if due, err := s.Erasures.WantsCompacting(); err != nil || !due {
		t.Errorf("WantsCompacting(a day later) = %v, %v, want that the file is written anew", due, err)
	}
	healthy(t, s)
}

// TestAReleasedRecordHasLeftNowhere: a record that has moved to another database goes with that one, and with what the first says of it.
// It may come back to either.
func TestAReleasedRecordHasLeftNowhere(t *testing.T) {
	s := twoChurches(t)
	id := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	patched(t, s, record.Person, id, `{"church_id":2}`)
	released(t, s, "church-2")
	if n := kv.Rows(t, s, "left"); n != 0 {
		t.Errorf("%d rows say that a record has left, which is in the file no more", n)
	}
	healthy(t, s)
	if err := push(t, opens(t, s, auth.Operator(), "church-1"), merge.DocWrite{ID: record.Person.DocID(record.Int(id)), Path: chain("a"), Body: []byte(`{"full_name":"Ana","church_id":1}`)}); err != nil {
		t.Fatal(err)
	}
	healthy(t, s)
}

// TestAReleasedNameIsInNoKeptAnswer: who asks again for a sale is shown the ticket as it is there now, and makes no second one.
func TestAReleasedNameIsInNoKeptAnswer(t *testing.T) {
	s := twoChurches(t)
	create := func(k *record.Kind, key, body string) (entry.Reply, error) {
		at := desk.Target{Surface: record.Admin, Kind: k, Once: &idempotency.Request{Key: sha256.Sum256([]byte(key)), Body: sha256.Sum256([]byte(body))}}
		return s.Desk.Create(auth.Operator(), at, kvtest.Parse(t, k, body, true))
	}
	made := func(k *record.Kind, key, body string) entry.Reply {
		t.Helper()
		r, err := create(k, key, body)
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		return r
	}
	const sale, ana, rui = `{"event_id":1,"code":"K1","holder_name":"Zulmira First"}`, `{"full_name":"Zacarias Quintela","church_id":1}`, `{"full_name":"Rui","church_id":2}`
	ticket := made(record.Ticket, "sale", sale)
	made(record.Person, "person", ana)
	other := made(record.Person, "other", rui)
	if !strings.Contains(string(ticket.JSON), "Zulmira") {
		t.Fatalf("the sale's answer is %s", ticket.JSON)
	}
	released(t, s, "event-1-names")
	released(t, s, "event-1-holders")
	released(t, s, "church-1")
	again := made(record.Ticket, "sale", sale)
	if !again.Replayed || again.ID != ticket.ID || strings.Contains(string(again.JSON), "First") || !strings.Contains(string(again.JSON), `"state":"valid"`) {
		t.Errorf("the sale again = %v of %v: %s, want the same ticket without its holder", again.Replayed, again.ID, again.JSON)
	}
	if r, err := create(record.Person, "person", ana); kindOf(err) != "not found" {
		t.Errorf("the released person again = %s, %v, want not found", r.JSON, err)
	}
	if again := made(record.Person, "other", rui); !again.Replayed || string(again.JSON) != string(other.JSON) {
		t.Errorf("a person of another church again = %s, want the kept answer %s", again.JSON, other.JSON)
	}
	if _, err := create(record.Ticket, "sale", ana[:1]+`"event_id":1}`); kindOf(err) == "ok" {
		t.Error("another body under a key whose answer was released is taken")
	}
	for _, name := range []string{"Zulmira", "Zacarias"} {
		if n := kv.RowsHolding(t, s, "once", name); n != 0 {
			t.Errorf("%d kept answers hold %s", n, name)
		}
	}
	healthy(t, s)
}

// TestWhatWasRefusedGoesWithItsDatabase: no byte of it stays, whether staff had settled it or not; what is about a record of a database
// that is kept stays for them.
func TestWhatWasRefusedGoesWithItsDatabase(t *testing.T) {
	clock, dir := kvtest.NewClock(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)), folder(t)
	s := reopenable(t, kv.Config{Dir: dir, Clock: clock.Now})
	kvtest.Create(t, s, record.Church, `{"name":"A"}`)
	newEvent(t, s, `,"church_id":1`)
	newEvent(t, s, `,"church_id":1`)
	refuses := func(level, name, doc, body string) {
		t.Helper()
		db := opens(t, s, enrolled(t, s, level, auth.Venue{Names: true}), name)
		if err := push(t, db, merge.DocWrite{ID: doc, Path: chain("a"), Body: []byte(body)}); kindOf(err) != "forbidden" {
			t.Fatalf("%s in %s = %v, want forbidden", doc, name, err)
		}
	}
	refuses("event:1", "event-1-names", drawnDoc(record.HolderName, 7), `{"event_id":1,"full_name":"Zulmira Quintela"}`)
	for _, r := range matters(t, s, auth.Operator(), record.Refusal) {
		if _, err := s.Inbox.Resolve(auth.Operator(), inbox.Item{Kind: record.Refusal, ID: r.ID}, inbox.Choice{}); err != nil {
			t.Fatal(err)
		}
	}
	refuses("event:1", "event-1-names", drawnDoc(record.HolderName, 8), `{"event_id":1,"full_name":"Zacarias Quintela"}`)
	refuses("event:1", "event-1-holders", drawnDoc(record.Holder, 8), `{"event_id":1,"holder_name":"Zenobia Quintela"}`)
	refuses("event:1", "event-1", "checkin:01J0000000000000000000000A", `{"event_id":1,"door":"Zebedeu"}`)
	refuses("event:1", "event-1", record.Event.DocID(record.Int(1)), `{"name":"Vigil","church_id":1}`)
	refuses("event:2", "event-2-names", drawnDoc(record.HolderName, 9), `{"event_id":2,"full_name":"Rui Quintela"}`)
	for _, name := range []string{"event-1", "event-1-names", "event-1-holders"} {
		if err := s.Laptop.ReleaseRefusals(auth.Operator(), name, "reference", "church-1"); err != nil {
			t.Fatalf("ReleaseRefusals(%s) = %v", name, err)
		}
	}
	if err := s.Laptop.ReleaseRefusals(kvtest.Login(t, s, "church:1", "*:*"), "event-2-names"); kindOf(err) != "forbidden" {
		t.Errorf("ReleaseRefusals by a church's key = %v, want forbidden", err)
	}
	if n := len(matters(t, s, auth.Operator(), record.Refusal)); n != 2 {
		t.Errorf("%d refusals are left, want the event's own and the other event's", n)
	}
	healthy(t, s)
	clock.Move(23 * time.Hour)
	if due, err := s.Erasures.WantsCompacting(); err != nil || !due {
		t.Errorf("WantsCompacting(a day later) = %v, %v, want that the file is written anew", due, err)
	}
	if _, err := s.Files.Compact(t.Context(), auth.Operator()); err != nil {
		t.Fatal(err)
	}
	clock.Move(24 * time.Hour)
	if due, err := s.Erasures.WantsCompacting(); err != nil || due {
		t.Errorf("WantsCompacting(a day after a compaction) = %v, %v, want false", due, err)
	}
	closed(t, s)
	file, err := os.ReadFile(table.Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	for word, stays := range map[string]bool{"Zulmira": false, "Zacarias": false, "Zenobia": false, "Zebedeu": false, "Vigil": true, "Rui": true} {
		if bytes.Contains(file, []byte(word)) != stays {
			t.Errorf("the file holds %s: %v, want %v", word, !stays, stays)
		}
	}
}

// TestMembershipsLeaveWithTheirPerson: also one that the centre has not taken, and none before it was offered.
func TestMembershipsLeaveWithTheirPerson(t *testing.T) {
	s := twoChurches(t)
	person := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	group := kvtest.Create(t, s, record.Group, `{"name":"Choir","church_id":1}`)
	offered := s.Tables.Commits.Seq()
	kvtest.Create(t, s, record.Membership, fmt.Sprintf(`{"person":%d,"group_id":%d}`, person, group))
	for _, c := range []struct {
		upto   uint64
		held   bool
		people int
	}{{offered, true, 1}, {s.Tables.Commits.Seq(), false, 0}} {
		held, err := s.Laptop.Leave(auth.Operator(), []string{record.Person.DocID(record.Int(person))}, map[string]uint64{"church-1": c.upto})
		people, members := len(liveIDs(t, s, record.Person)), len(liveIDs(t, s, record.Membership))
		if err != nil || held != c.held || people != c.people || members != c.people {
			t.Errorf("Leave(up to %d) = %t, %v; then %d people and %d memberships, want %t and %d of each", c.upto, held, err, people, members, c.held, c.people)
		}
		healthy(t, s)
	}
}

// TestWhoFollowsTheLogHearsOfAReleaseAtOnce: the log itself does not grow by it.
func TestWhoFollowsTheLogHearsOfAReleaseAtOnce(t *testing.T) {
	s := kvtest.Open(t)
	kvtest.Create(t, s, record.Church, `{"name":"A"}`)
	for name, release := range map[string]func(doc string) error{
		"a record that has left": func(doc string) error {
			_, err := s.Laptop.Leave(auth.Operator(), []string{doc}, map[string]uint64{"church-1": s.Tables.Commits.Seq()})
			return err
		},
		"a database": func(string) error { return s.Laptop.Release(auth.Operator(), "church-1", s.Tables.Commits.Seq()) },
	} {
		id := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		told, seq, releases := make(chan error, 1), s.Tables.Commits.Seq(), s.Tables.Commits.Releases()
		go func() { told <- s.Log.Await(ctx, seq, releases) }()
		if err := release(record.Person.DocID(record.Int(id))); err != nil {
			t.Fatal(err)
		}
		if err := <-told; err != nil || s.Tables.Commits.Seq() != seq {
			t.Errorf("%s: Await = %v, and the log has grown from %d to %d; want it to return", name, err, seq, s.Tables.Commits.Seq())
		}
		cancel()
	}
}
