package kv_test

import (
	"crypto/sha256"
	"doorward/kv/idempotency"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/erase"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/search"
	"doorward/kv/table"
)

// backup is what the store holds now.
func (k *known) backup(t testing.TB) (file []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backup.db")
	_, err := k.Store.Files.CopyTo(auth.Operator(), path)
	if err == nil {
		file, err = os.ReadFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// putBack closes the store and puts a backup in its place. The ledger beside it stays.
func (k *known) putBack(t testing.TB, backup []byte) {
	t.Helper()
	closed(t, k.Store)
	if err := os.WriteFile(table.Path(k.dir), backup, 0o600); err != nil {
		t.Fatal(err)
	}
}

// shown is all that a store shows of itself to those who see most, by every way of reading.
func (k *known) shown(t testing.TB) string {
	t.Helper()
	var all strings.Builder
	op := auth.Operator()
	for _, kind := range record.Kinds() {
		for _, line := range pageOf(t, k.Store, kind).IDs {
			at := target(kind, 0)
			at.ID = line
			if r, err := k.Store.Desk.Retrieve(op, at); err == nil {
				fmt.Fprintf(&all, "%s\n", r.JSON)
			}
			if past, err := k.Store.Desk.History(op, at, true); err == nil {
				for _, then := range past {
					fmt.Fprintf(&all, "%s\n", then.Body)
				}
			}
		}
		fmt.Fprintf(&all, "%s\n", pageOf(t, k.Store, kind).Results)
	}
	for _, line := range exported(t, k.Store) {
		fmt.Fprintln(&all, line)
	}
	for _, name := range []string{"records", "church-1", "event-1", "event-1-names", "event-1-holders"} {
		k.feed(t, name, &all)
	}
	replayed, _, err := k.Store.Log.Replay(op, 0, 1000, record.Kinds()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range replayed {
		fmt.Fprintf(&all, "%s%s\n", r.Body.Shown, r.Body.Hidden)
	}
	for _, q := range []string{"zulmira", "zacarias", "quintela"} {
		hits, err := k.Store.Door.FindTickets(op, 1, search.ParseRanked(q), nil)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%+v\n", hits)
	}
	return all.String()
}

// feed adds the documents of a database with all bodies that are held.
func (k *known) feed(t testing.TB, name string, all *strings.Builder) {
	t.Helper()
	db := opens(t, k.Store, auth.Operator(), name)
	page, _, err := db.Changes(docs.Feed{Limit: docs.DocPage, Bodies: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range page {
		fmt.Fprintf(all, "%s\n", c.Winner.Body)
		doc, err := db.Read(c.ID, docs.Ask{Leaves: true})
		if err != nil && kindOf(err) != "not found" {
			t.Fatal(err)
		}
		for _, r := range doc.Revisions {
			fmt.Fprintf(all, "%s\n", r.Body)
		}
	}
}

// wantHidden wants no trace of the person in what is shown.
func wantHidden(t testing.TB, shown string) {
	t.Helper()
	for _, line := range strings.Split(shown, "\n") {
		for _, trace := range traces {
			if strings.Contains(strings.ToLower(line), strings.ToLower(trace)) {
				t.Errorf("%s is shown: %s", trace, line)
			}
		}
	}
}

// TestAnErasureThatCannotBeFinishedHidesThePerson: a backup is put back on a full disk, so that nothing can be erased anew. The store
// opens, says so, shows nobody what is to be erased, and erases it by itself once there is room.
func TestAnErasureThatCannotBeFinishedHidesThePerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := knowing(t)
		backup := k.backup(t)
		if shown := k.shown(t); !strings.Contains(shown, "Zulmira") || !strings.Contains(shown, "Quintela") {
			t.Fatal("nothing is shown of who is to be erased")
		}
		k.erase(t)
		k.putBack(t, backup)
		var left room
		registry := prometheus.NewRegistry()
		k.Store = reopenable(t, kv.Config{Dir: k.dir, Free: left.free, Registerer: registry})
		defer func() { closed(t, k.Store) }()
		if n := k.Store.Erasures.Unfinished(); n != 5 || kvtest.Metric(t, registry, "doorward_erasures_unfinished") != 5 {
			t.Errorf("%d erasures are unfinished, want 5", n)
		}
		wantHidden(t, k.shown(t))
		healthy(t, k.Store)

		left.Store(1 << 40) // what is asked now is asked before erasing is tried again
		body := `{"full_name":"Zulmira First","email":"zulmira@example.org","church_id":1}`
		at := desk.Target{Surface: record.Admin, Kind: record.Person, Once: &idempotency.Request{Key: sha256.Sum256([]byte(body))}}
		r, err := k.Store.Desk.Create(auth.Operator(), at, kvtest.Parse(t, record.Person, body, true))
		if err != nil || !r.Replayed {
			t.Fatalf("asked again: %+v, %v", r, err)
		}
		wantHidden(t, string(r.JSON))
		r = patched(t, k.Store, record.Ticket, k.ticket, `{"state":"valid","type":"Adult"}`)
		wantHidden(t, string(r.JSON))
		d := scanned(t, k.Store, auth.Operator(), door.Attempt{Event: 1, Code: "KEEP"}, outcome.Admitted)
		if d.Label != "" || d.Holder != nil {
			t.Errorf("the door is told %q, %v", d.Label, d.Holder)
		}
		time.Sleep(2 * time.Minute) // of the bubble's clock
		synctest.Wait()
		if n := k.Store.Erasures.Unfinished(); n != 0 || kvtest.Metric(t, registry, "doorward_erasures_unfinished") != 0 {
			t.Errorf("%d erasures are unfinished once there is room", n)
		}
		if _, err := k.Store.Desk.Retrieve(auth.Operator(), target(record.Person, k.person)); kindOf(err) != "not found" {
			t.Errorf("the person: %v, want not found", err)
		}
		wantHidden(t, k.shown(t))
		healthy(t, k.Store)
	})
}

// TestAnErasureThatFailsHidesThePersonAtOnce, and is taken up again without a new start.
func TestAnErasureThatFailsHidesThePersonAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := knowing(t)
		defer func() { closed(t, k.Store) }()
		var whole atomic.Bool // the cause is gone
		kv.StopErasing(k.Store, func(step string) error {
			if !whole.Load() && step == "listed" {
				return os.ErrDeadlineExceeded
			}
			return nil
		})
		if _, err := k.Store.Erasures.Erase(auth.Operator(), record.Person, record.Int(k.person)); !errors.Is(err, erase.ErrErasureNoted) || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("the erasure = %v, want that it is noted, and the cause", err)
		}
		if k.Store.Erasures.Unfinished() == 0 {
			t.Error("no erasure is unfinished")
		}
		wantHidden(t, k.shown(t))
		synctest.Wait()
		whole.Store(true)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := k.Store.Erasures.Unfinished(); n != 0 {
			t.Errorf("%d erasures are unfinished", n)
		}
		whole.Store(false)
		for _, name := range []string{"Rui", "Eva"} {
			id := kvtest.Create(t, k.Store, record.Person, fmt.Sprintf(`{"full_name":%q,"church_id":1}`, name))
			if _, err := k.Store.Erasures.Erase(auth.Operator(), record.Person, record.Int(id)); (err == nil) != whole.Load() {
				t.Errorf("the erasure of %s = %v", name, err)
			}
			synctest.Wait()
			whole.Store(true)
		}
		if n := k.Store.Erasures.Unfinished(); n != 0 {
			t.Errorf("%d erasures are unfinished as soon as another one has succeeded", n)
		}
		k.lacksTraces(t)
		k.Store = reopenable(t, kv.Config{Dir: k.dir})
	})
}

// TestAnErasureIsHiddenWhoeverFinishesBeforeIt: one that has just failed stays hidden where another, begun before it, comes to its end.
func TestAnErasureIsHiddenWhoeverFinishesBeforeIt(t *testing.T) {
	k := knowing(t)
	defer closed(t, k.Store)
	finish := kv.BeginErasures(t, k.Store)
	kv.StopErasing(k.Store, func(string) error { return os.ErrDeadlineExceeded })
	if _, err := k.Store.Erasures.Erase(auth.Operator(), record.Person, record.Int(k.person)); err == nil {
		t.Fatal("the erasure does not fail")
	}
	if finish() || k.Store.Erasures.Unfinished() == 0 {
		t.Error("all is said to be erased")
	}
	wantHidden(t, k.shown(t))
}

// TestDamageElsewhereKeepsNoStoreShut: erasing looks at every conflict, and one of them cannot be read; or whose tickets are to be
// erased cannot be found out, and all holders are hidden.
func TestDamageElsewhereKeepsNoStoreShut(t *testing.T) {
	for _, bucket := range []string{"kind:conflict", "lookup"} {
		k := knowing(t)
		backup := k.backup(t)
		k.erase(t)
		k.putBack(t, backup)
		kv.SpoilRows(t, k.dir, bucket)
		k.Store = reopenable(t, kv.Config{Dir: k.dir})
		if k.Store.Erasures.Unfinished() == 0 {
			t.Errorf("%s damaged: no erasure is unfinished", bucket)
		}
		for _, kind := range []*record.Kind{record.Person, record.Ticket, record.Membership, record.Holder, record.HolderName, record.Refusal} {
			wantHidden(t, string(pageOf(t, k.Store, kind).Results))
		}
		closed(t, k.Store)
	}
}

// TestAnErasureThatIsNotNotedIsNotSaidToBe: the ledger that it must stand in first cannot be written.
func TestAnErasureThatIsNotNotedIsNotSaidToBe(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, kv.Config{Dir: dir})
	defer closed(t, s)
	id := kvtest.Create(t, s, record.Person, `{"full_name":"Ana"}`)
	if err := os.Mkdir(filepath.Join(dir, kv.LedgerName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Erasures.Erase(auth.Operator(), record.Person, record.Int(id)); err == nil || errors.Is(err, erase.ErrErasureNoted) {
		t.Errorf("Erase = %v, want an error, and not that it is noted", err)
	}
}
