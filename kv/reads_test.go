package kv_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/kvtest/proof"
	"doorward/kv/record"
	"doorward/kv/table"
)

// readsOf lists all counts, as minutes after a moment, key, kind and records.
func readsOf(t testing.TB, s *kv.Store, since time.Time, where ...desk.Where) string {
	t.Helper()
	page, err := s.Figures.Reads(auth.Operator(), desk.Part{Where: where, Limit: 100})
	if err != nil || page.Count != len(page.Items) {
		t.Fatalf("%d of %d counts of reads: %v", len(page.Items), page.Count, err)
	}
	var all []string
	for _, r := range page.Items {
		all = append(all, fmt.Sprintf("%v %d %s %d", r.Minute.Sub(since.Truncate(time.Minute)), r.Key, r.Kind.Name, r.Records))
	}
	return strings.Join(all, "; ")
}

// TestReadsOfPeopleAreCounted: by key, kind and minute, on whatever way they were shown; they outlive the process.
func TestReadsOfPeopleAreCounted(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	start := clock.Now()
	s := reopenable(t, kv.Config{Dir: folder(t), Clock: clock.Now})
	church := kvtest.Create(t, s, record.Church, `{"name":"Church"}`)
	event := newEvent(t, s, "")
	ana := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	kvtest.Create(t, s, record.Person, `{"full_name":"Eva","church_id":1}`)
	newTicket(t, s, event, "K1", `,"holder_name":"Ana Souza"`)
	staff, gate := kvtest.Login(t, s, "denomination", "*:*", "admin:*", "sync:*"), gate(t, s, event)

	if _, err := s.Desk.Retrieve(staff, target(record.Person, ana)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Desk.Retrieve(staff, target(record.Church, church)); err != nil { // no person
		t.Fatal(err)
	}
	if _, err := s.Desk.Retrieve(staff, target(record.Person, 99)); !errors.Is(err, table.ErrNotFound) {
		t.Fatal(err)
	}
	if _, err := s.Desk.List(auth.Operator(), desk.Query{Surface: record.V1, Kind: record.Person, Limit: 10}); err != nil { // no key
		t.Fatal(err)
	}
	for range 3 {
		if _, err := s.Desk.List(staff, desk.Query{Surface: record.V1, Kind: record.Person, Limit: 10}); err != nil {
			t.Fatal(err)
		}
	}
	found(t, s, gate, event, "ana")
	if got, want := readsOf(t, s, start), fmt.Sprintf("0s %d ticket 1; 0s %d person 7", gate.Key(), staff.Key()); got != want {
		t.Errorf("reads in the first minute are %s, want %s", got, want)
	}

	clock.Move(time.Minute)
	if _, err := s.Desk.History(staff, target(record.Person, ana), true); err != nil {
		t.Fatal(err)
	}
	db, err := s.Docs.Database(staff, "church-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.Changes(docs.Feed{Limit: 10, Bodies: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Read(record.Person.DocID(record.Int(ana)), docs.Ask{Leaves: true}); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("1m0s %d person 4; 0s %d ticket 1; 0s %d person 7", staff.Key(), gate.Key(), staff.Key())
	if got := readsOf(t, s, start); got != want {
		t.Errorf("reads are %s, want %s", got, want)
	}

	kvtest.Create(t, s, record.Church, `{"name":"Another"}`) // a commit, for the minute that has ended
	if got := kv.Rows(t, s, "reads"); got != 2 {
		t.Errorf("%d counts are on disk after a commit, want the 2 of the first minute", got)
	}
	if got := readsOf(t, s, start); got != want {
		t.Errorf("reads after a commit are %s, want %s", got, want)
	}
	closed(t, s)
	again := reopenable(t, kv.Config{Dir: s.Tables.Folder.Dir, Clock: clock.Now})
	if got := readsOf(t, again, start); got != want {
		t.Errorf("reads after a restart are %s, want %s", got, want)
	}
	if _, err := again.Desk.Retrieve(staff, target(record.Person, ana)); err != nil { // in a minute that is on disk already
		t.Fatal(err)
	}
	closed(t, again)
	again = reopenable(t, kv.Config{Dir: s.Tables.Folder.Dir, Clock: clock.Now})
	if got, want := readsOf(t, again, start, desk.Where{Field: "kind", In: []any{"person"}}, desk.Where{Field: "minute", From: clock.Now().Truncate(time.Minute)}),
		fmt.Sprintf("1m0s %d person 5", staff.Key()); got != want {
		t.Errorf("reads of people in the last minute are %s, want %s", got, want)
	}
	healthy(t, again)

	clock.Move(401 * 24 * time.Hour)
	if _, err := again.Desk.Retrieve(staff, target(record.Person, ana)); err != nil {
		t.Fatal(err)
	}
	clock.Move(time.Minute)
	kvtest.Create(t, again, record.Church, `{"name":"A third"}`)
	if got, want := readsOf(t, again, clock.Now()), fmt.Sprintf("-1m0s %d person 1", staff.Key()); got != want {
		t.Errorf("reads after 401 days are %s, want %s", got, want)
	}
}

// TestCountsOfReadsDoNotPileUp: where nobody writes, they are written by themselves once there are many.
func TestCountsOfReadsDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := kvtest.NewClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
		s := reopenable(t, kv.Config{Dir: folder(t), Clock: clock.Now})
		defer closed(t, s)
		kvtest.Create(t, s, record.Church, `{"name":"Church"}`)
		ana := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
		staff := kvtest.Login(t, s, "denomination", "people:*")
		for range kv.ReadsHeld + 1 {
			if _, err := s.Desk.Retrieve(staff, desk.Target{Kind: record.Person, ID: record.Int(ana)}); err != nil {
				t.Fatal(err)
			}
			clock.Move(time.Minute)
		}
		synctest.Wait()
		if got := kv.Rows(t, s, "reads"); got <= kv.ReadsHeld {
			t.Errorf("%d counts are on disk, want more than %d", got, kv.ReadsHeld)
		}
	})
}

// TestNoCountOfReadsIsMissedDuringACommit: a count is listed once at each moment, also while it goes from the memory into the file.
func TestNoCountOfReadsIsMissedDuringACommit(t *testing.T) {
	world := func(t *testing.T) (s *kv.Store, clock *kvtest.Clock, show func()) {
		clock = kvtest.NewClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
		s = kvtest.OpenConfig(t, kv.Config{Clock: clock.Now})
		kvtest.Create(t, s, record.Church, `{"name":"Church"}`)
		ana := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
		staff := kvtest.Login(t, s, "denomination", "people:*")
		return s, clock, func() {
			t.Helper()
			if _, err := s.Desk.Retrieve(staff, desk.Target{Kind: record.Person, ID: record.Int(ana)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	listed := func(t *testing.T, s *kv.Store, want int) {
		t.Helper()
		page, err := s.Figures.Reads(auth.Operator(), desk.Part{Limit: kv.ReadsHeld + 1})
		if err != nil {
			t.Fatal(err)
		}
		sum := uint64(0)
		for _, r := range page.Items {
			sum += r.Records
		}
		if page.Count != want || sum != uint64(want) {
			t.Fatalf("%d records in %d minutes are listed, want one in each of %d", sum, page.Count, want)
		}
	}
	t.Run("a minute that has ended", func(t *testing.T) {
		s, clock, show := world(t)
		for n := 1; n <= proof.Count(50, 500); n++ {
			show()
			clock.Move(time.Minute)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = kv.Force(s, kvtest.Parse(t, record.Role, `{"name":"Role"}`, true), int64(n))
			}()
			for more := true; more; {
				select {
				case <-ended:
					more = false
				default:
				}
				listed(t, s, n)
			}
		}
	})
	t.Run("many minutes", func(t *testing.T) {
		s, clock, show := world(t)
		release := kv.Hold(s)
		for range kv.ReadsHeld + 1 {
			show()
			clock.Move(time.Minute)
		}
		waiting(s, 1)
		listed(t, s, kv.ReadsHeld+1)
		release()
		listed(t, s, kv.ReadsHeld+1)
	})
}

// TestReadsAreForWhoManagesTheKey: nobody learns what a key beyond the own level looks at.
func TestReadsAreForWhoManagesTheKey(t *testing.T) {
	s, _ := opened(t)
	kvtest.Create(t, s, record.Church, `{"name":"Church"}`)
	ana := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	whole, church := kvtest.Login(t, s, "denomination", "people:*"), kvtest.Login(t, s, "church:1", "people:*", "admin:*")
	for _, p := range []auth.Principal{whole, church} {
		if _, err := s.Desk.Retrieve(p, desk.Target{Kind: record.Person, ID: record.Int(ana)}); err != nil {
			t.Fatal(err)
		}
	}
	if page, err := s.Figures.Reads(church, desk.Part{Limit: 10}); err != nil || page.Count != 1 || page.Items[0].Key != church.Key() {
		t.Errorf("a church's key is shown reads %+v, %v, want its own", page, err)
	}
	var no *auth.Forbidden
	if _, err := s.Figures.Reads(whole, desk.Part{Limit: 10}); !errors.As(err, &no) {
		t.Errorf("reads without admin:GET = %v, want *Forbidden", err)
	}
}
