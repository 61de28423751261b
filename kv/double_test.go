package kv_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
)

// TestFactsSayTheSameInWhateverOrderTheyCome stores drawn facts of other nodes in drawn orders: what is an admission and what a
// double entry follows from hlc and id alone, and the status that is followed from fact to fact is the one counted at the end.
func TestFactsSayTheSameInWhateverOrderTheyCome(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		facts := drawnFacts(r)
		want := modelled(facts)
		states := slices.DeleteFunc(slices.Clone(facts), func(f *drawnFact) bool { return f.kind != nil })
		for range 2 {
			order := slices.Clone(facts)
			seed := rapid.Uint64().Draw(r, "order")
			rand.New(rand.NewPCG(seed, 0)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			for i, n := 0, 0; i < len(order); i++ { // a ticket's states come in their own order
				if order[i].kind == nil {
					order[i], n = states[n], n+1
				}
			}
			c := table.Config{Dir: t.TempDir(), Clock: kvtest.NewClock(sunday).Now}
			s := reopenable(t, c)
			event := newEvent(t, s, "")
			for i, sort := range []string{"Adult", "Adult", "Child"} {
				newTicket(t, s, event, fmt.Sprint("T", i), fmt.Sprintf(`,"type":%q`, sort))
			}
			polled := rapid.IntRange(0, 3).Draw(r, "polled")
			for i, f := range order {
				f.put(t, s, event)
				if polled > 0 && i%polled == 0 {
					if got := toldBy(t, s, event); !cmp.Equal(modelled(order[:i+1]), got) {
						r.Fatalf("after %d facts: %s", i+1, cmp.Diff(modelled(order[:i+1]), got))
					}
				}
			}
			if diff := cmp.Diff(want, toldBy(t, s, event)); diff != "" {
				r.Fatalf("the facts say something else: %s", diff)
			}
			healthy(t, s)
			closed(t, s)
			s = reopenable(t, c)
			if diff := cmp.Diff(want, toldBy(t, s, event)); diff != "" {
				r.Errorf("after a restart: %s", diff)
			}
			closed(t, s)
		}
	})
}

// TestFactsThatStaySayTheSameInWhateverOrderOthersGo takes drawn facts of other nodes and the tickets out of the file one by one, as a
// laptop does that a kill may end in between: what is a double entry among the rest follows from the rest alone, and the file is sound.
func TestFactsThatStaySayTheSameInWhateverOrderOthersGo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		registry := prometheus.NewRegistry()
		s := reopenable(t, table.Config{Dir: t.TempDir(), Clock: kvtest.NewClock(sunday).Now, Registerer: registry})
		event := newEvent(t, s, "")
		goes := drawnFacts(r)
		left := slices.Clone(goes)
		goes = slices.DeleteFunc(goes, func(f *drawnFact) bool { return f.kind == nil })
		for i := range 3 {
			newTicket(t, s, event, fmt.Sprint("T", i), "")
			goes = append(goes, &drawnFact{kind: record.Ticket, id: record.Int(int64(i + 1)), ticket: i + 1})
		}
		for _, f := range left {
			f.put(t, s, event)
		}
		for _, f := range rapid.Permutation(goes).Draw(r, "order") {
			purged(t, s, f.kind, f.id)
			left = slices.DeleteFunc(left, func(of *drawnFact) bool {
				return of == f || f.kind == record.Ticket && of.kind == nil && of.ticket == f.ticket
			})
			page, err := s.Door.DoubleEntries(auth.Operator(), event, desk.Part{Limit: 100})
			if err != nil {
				r.Fatalf("without %s %s: DoubleEntries: %v", f.kind.Name, f.kind.FormatID(f.id), err)
			}
			want := modelled(left).Doubles
			if diff := cmp.Diff(want, doubleLines(page)); diff != "" {
				r.Fatalf("without %s %s: %s", f.kind.Name, f.kind.FormatID(f.id), diff)
			}
			if n := kvtest.Metric(t, registry, "doorward_double_entries"); n != float64(len(want)) {
				r.Errorf("doorward_double_entries = %v, want %d", n, len(want))
			}
			healthy(t, s)
		}
		closed(t, s)
	})
}

// purged takes one record out of the file.
func purged(t testing.TB, s *kv.Store, k *record.Kind, id record.ID) {
	t.Helper()
	err := s.Tables.Do(func(o *table.Tx) error {
		st, err := o.LoadAny(k, id)
		if err != nil || st == nil {
			return table.OrNotFound(err)
		}
		return merge.Purge(o, k, st)
	})
	if err != nil {
		t.Fatalf("Purge(%s %s) = %v", k.Name, k.FormatID(id), err)
	}
}

// TestAReleasedDoubleEntryIsListedNoMore: a laptop that has handed an event over lists nothing of it, and is sound.
func TestAReleasedDoubleEntryIsListedNoMore(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := reopenable(t, table.Config{Dir: folder(t), Registerer: registry})
	kvtest.Create(t, s, record.Church, `{"name":"A"}`)
	goes, stays := newEvent(t, s, `,"church_id":1`), newEvent(t, s, `,"church_id":1`)
	for _, event := range []int64{goes, stays} {
		newTicket(t, s, event, "K1", "")
		scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "K1"}, outcome.Admitted)
		scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "K1", LetIn: true}, outcome.AlreadyAdmitted)
	}
	released(t, s, fmt.Sprint("event-", goes))
	page, err := s.Door.DoubleEntries(auth.Operator(), 0, desk.Part{Limit: 10})
	if err != nil || page.Count != 1 || len(page.Items) != 1 || page.Items[0].Event != stays {
		t.Errorf("double entries = %+v, %v, want that of the event which stays", page, err)
	}
	if n := kvtest.Metric(t, registry, "doorward_double_entries"); n != 1 {
		t.Errorf("doorward_double_entries = %v, want 1", n)
	}
	healthy(t, s)
	closed(t, s)
}

// TestScansOfAnOfflineDoor hands in what was seen while there was no link.
func TestScansOfAnOfflineDoor(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, "")
	for _, code := range []string{"K1", "K2", "K3"} {
		newTicket(t, s, event, code, "")
	}
	p := gate(t, s, event)
	first := scanned(t, s, p, door.Attempt{Event: event, Code: "K1", Door: "north"}, outcome.Admitted)
	clock.Move(time.Hour)
	seen := sunday.Add(10 * time.Minute)
	batch := []door.Attempt{
		{Event: event, Code: "K2", Nonce: "a", At: seen},
		{Event: event, Code: "K1", Nonce: "b", At: seen, LetIn: true},
		{Event: event, Code: "K3", Nonce: "a", At: seen}, // another code's nonce
		{Event: event, Code: "K1", Nonce: "c", At: seen},
		{Event: event, Code: "K2", Nonce: "a", At: seen}, // handed in twice
		{Event: event, Code: "??", Nonce: "d", At: seen, LetIn: true},
		{Event: event, Code: "K3", At: sunday.AddDate(9, 0, 0), LetIn: true},
	}
	want := []outcome.Outcome{outcome.Admitted, outcome.AlreadyAdmitted, "", outcome.AlreadyAdmitted, outcome.Admitted, outcome.UnknownCode, outcome.Admitted}
	var before []door.Judged
	for round := range 2 {
		got, err := s.Door.CheckInAll(p, batch)
		if err != nil {
			t.Fatal(err)
		}
		for i, j := range got {
			if j.Outcome != want[i] && !(round == 1 && i == 6) || (j.Err != nil) != (i == 2) {
				t.Errorf("round %d, scan %d = %+v, want %q", round, i, j, want[i])
			}
			if (j.Double != "") != (i == 1 || i == 5 || round == 1 && i == 6) {
				t.Errorf("round %d, scan %d names a double entry: %q", round, i, j.Double)
			}
			if round == 1 && i < 2 && (!j.Replayed || j.CheckinID != before[i].CheckinID || j.Double != before[i].Double || !j.AdmittedAt.Equal(before[i].AdmittedAt)) {
				t.Errorf("scan %d again = %+v, want %+v", i, j, before[i])
			}
		}
		before = got
	}
	if before[1].CheckinID != first.CheckinID || !before[0].AdmittedAt.Equal(seen) {
		t.Errorf("scans = %+v", before)
	}
	page, err := s.Door.DoubleEntries(p, event, desk.Part{Limit: 10})
	if err != nil || page.Count != 3 || page.Items[0].CheckinID != before[1].Double || page.Items[0].Basis != "offline" ||
		page.Items[0].First.CheckinID != first.CheckinID || !page.Items[0].At.Equal(seen) {
		t.Errorf("double entries = %+v, %v", page, err)
	}
	if n := pageOf(t, s, record.Checkin).Count; n != 6 {
		t.Errorf("%d check-ins are written, want 3 admissions and 3 double entries", n)
	}
	healthy(t, s)
}

// TestADayOfScansBelongsToItsDay: at a daily event an offline scan admits to the day on which it was made.
func TestADayOfScansBelongsToItsDay(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, `,"list_rule":"daily"`)
	newTicket(t, s, event, "K1", "")
	p := gate(t, s, event)
	clock.Move(24 * time.Hour)
	for i, at := range []time.Time{sunday, sunday.AddDate(0, 0, 5)} { // yesterday's, and one of a clock that is ahead
		got, err := s.Door.CheckInAll(p, []door.Attempt{{Event: event, Code: "K1", At: at}})
		if err != nil || got[0].Outcome != outcome.Admitted {
			t.Errorf("scan %d = %+v, %v, want an admission", i, got, err)
		}
	}
	scanned(t, s, p, door.Attempt{Event: event, Code: "K1"}, outcome.AlreadyAdmitted) // the second one was today's
}

// TestDoubleEntriesAreCounted reads the gauge over what is listed, and over a restart.
func TestDoubleEntriesAreCounted(t *testing.T) {
	c := table.Config{Dir: folder(t)}
	registry := prometheus.NewRegistry()
	c.Registerer = registry
	counted := func(want float64) {
		t.Helper()
		if got := kvtest.Metric(t, registry, "doorward_double_entries"); got != want {
			t.Errorf("doorward_double_entries = %v, want %v", got, want)
		}
	}
	s := reopenable(t, c)
	event := newEvent(t, s, "")
	ticket := newTicket(t, s, event, "K1", "")
	counted(0)
	first := scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "K1"}, outcome.Admitted)
	for range 2 {
		scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "K1", LetIn: true}, outcome.AlreadyAdmitted)
	}
	counted(2)
	patched(t, s, record.Ticket, ticket, `{"state":"cancelled"}`)
	counted(3)
	closed(t, s)
	s = reopenable(t, c)
	counted(3)
	undone(t, s, auth.Operator(), event, first.CheckinID)
	counted(2)
	patched(t, s, record.Ticket, ticket, `{"state":"refunded"}`)
	counted(1)
	closed(t, s)
}

// TestVerifyKnowsDoubleEntries takes the row of one away, gives one to a check-in that is none, and one to nobody's.
func TestVerifyKnowsDoubleEntries(t *testing.T) {
	for name, c := range map[string]struct {
		want string
		harm func(b *bbolt.Bucket, key []byte) error
	}{
		"a row is missing":          {"listed wrongly", func(b *bbolt.Bucket, key []byte) error { return b.Delete(key) }},
		"a row says something else": {"listed wrongly", func(b *bbolt.Bucket, key []byte) error { return b.Put(key, sealed(4, key, []byte("cancelled"))) }},
		"a row of another event": {"does not lead back", func(b *bbolt.Bucket, key []byte) error {
			key[8]++
			return b.Put(key, sealed(4, key, []byte("already_admitted")))
		}},
		"a row of no check-in": {"leads to check-in", func(b *bbolt.Bucket, key []byte) error {
			key[len(key)-1]++
			return b.Put(key, sealed(4, key, []byte("already_admitted")))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			s := reopenable(t, table.Config{Dir: dir})
			event := newEvent(t, s, "")
			newTicket(t, s, event, "K1", "")
			scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "K1"}, outcome.Admitted)
			scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "K1", LetIn: true}, outcome.AlreadyAdmitted)
			healthy(t, s)
			closed(t, s)
			tampered(t, dir, func(tx *bbolt.Tx) error {
				b := tx.Bucket([]byte("admission"))
				key, _ := at(b, false, is('d'))
				return c.harm(b, key)
			})
			s = kvtest.OpenConfig(t, table.Config{Dir: dir})
			r, err := s.Files.Verify(auth.Operator(), nil)
			if err != nil || r.Damaged == 0 || !strings.Contains(strings.Join(r.Damage, "\n"), c.want) {
				t.Errorf("Verify = %+v, %v, want a sentence with %q", r, err, c.want)
			}
		})
	}
}
