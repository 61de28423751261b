package kv_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// drawnFact is a check-in, an undo or a refusal that some node has made, or a ticket's new state.
type drawnFact struct {
	kind            *record.Kind // nil: the ticket's state
	id, names       record.ID    // names is the undone check-in
	ticket          int
	code            int
	list, direction string
	hlc             int
	state           string
}

func (f *drawnFact) counts() bool { return f.direction == "in" && f.list != "workshop" }

func (f *drawnFact) before(o *drawnFact) bool {
	return cmp.Or(f.hlc-o.hlc, f.id.Compare(o.id)) < 0
}

// drawnID makes an id of a fact.
func drawnID(n uint64) record.ID {
	id, _ := record.Checkin.KeyID(append([]byte{1, 2, 3, 4, 5, 6, 7, 8}, key8(n)...))
	return id
}

func drawnFacts(t *rapid.T) (facts []*drawnFact) {
	var checkins []record.ID
	for i := range rapid.IntRange(4, 16).Draw(t, "facts") {
		f := &drawnFact{kind: record.Checkin, id: drawnID(rapid.Uint64Range(1, 1<<40).Draw(t, "id")<<8 | uint64(i)), ticket: rapid.IntRange(1, 3).Draw(t, "ticket"),
			code: rapid.IntRange(1, 3).Draw(t, "code"), list: rapid.SampledFrom([]string{"", "", "", "", "", "", "2026-11-22", "workshop"}).Draw(t, "list"),
			direction: rapid.SampledFrom([]string{"in", "in", "in", "in", "in", "in", "out"}).Draw(t, "direction"), hlc: rapid.IntRange(1, 6).Draw(t, "hlc")}
		switch rapid.IntRange(0, 9).Draw(t, "sort") {
		case 9:
			f.kind = nil
			f.state = rapid.SampledFrom([]string{"valid", "cancelled", "blocked"}).Draw(t, "state")
		case 7, 8:
			if len(checkins) > 0 {
				f.kind, f.names = record.Undo, rapid.SampledFrom(checkins).Draw(t, "undone")
			}
		case 6:
			f.kind = record.Scan
		}
		if f.kind == record.Checkin {
			checkins = append(checkins, f.id)
		}
		facts = append(facts, f)
	}
	return facts
}

// put stores it.
func (f *drawnFact) put(t testing.TB, s *kv.Store, event int64) {
	t.Helper()
	if f.kind == nil {
		patched(t, s, record.Ticket, int64(f.ticket), fmt.Sprintf(`{"state":%q}`, f.state))
		return
	}
	text := func(name, v string) record.Member { return record.Member{Name: name, Value: record.Quote(v)} }
	members := []record.Member{{Name: "event_id", Value: record.Number(event)}, {Name: "ticket_id", Value: record.Number(int64(f.ticket))},
		text("code_hash", fmt.Sprintf("%032d", f.code)), text("list", f.list), text("direction", f.direction), text("door", fmt.Sprint("door ", f.code)),
		text("hlc", fmt.Sprintf("%016x", f.hlc)), text("at", fmt.Sprintf("2026-11-22T19:%02d:30Z", f.hlc))}
	switch f.kind {
	case record.Undo:
		members = append(members, text("checkin_id", record.Checkin.FormatID(f.names)))
	case record.Scan:
		members = append(members, text("outcome", "blocked"))
	}
	if err := kv.PutFact(s, f.kind, f.id, members...); err != nil {
		t.Fatalf("PutFact(%+v): %v", f, err)
	}
}

// told is what a store says of an event.
type told struct {
	Doubles  []string // check-in, why, and the one before
	Admitted int
	Outcomes map[kv.Outcome]int
	Types    map[string]kv.TypeCount
	Doors    map[string]int
	Minutes  map[int][2]int
}

func toldBy(t testing.TB, s *kv.Store, event int64) told {
	t.Helper()
	st, err := s.Status(kv.Operator(), event)
	if err != nil {
		t.Fatalf("Status: %v", err)
	}
	page, err := s.DoubleEntries(kv.Operator(), kv.DoubleQuery{Event: event, Limit: 100})
	if err != nil || page.Count != len(page.Entries) || st.Doubles != page.Count {
		t.Fatalf("DoubleEntries = %+v, %v, the status counts %d", page, err, st.Doubles)
	}
	got := told{Admitted: st.Admitted, Outcomes: map[kv.Outcome]int{}, Types: st.Types, Doors: st.Doors, Minutes: map[int][2]int{}}
	for _, e := range page.Entries {
		line := e.CheckinID + " " + string(e.Reason)
		if e.First != nil {
			line += " after " + e.First.CheckinID
		}
		got.Doubles = append(got.Doubles, line)
	}
	for o, n := range st.Outcomes {
		if n != 0 {
			got.Outcomes[o] = n
		}
	}
	for _, m := range st.Minutes {
		got.Minutes[m.Minute.Minute()] = [2]int{m.Admitted, m.Refused}
	}
	return got
}

// modelled is the same said in the plainest way: every check-in against every other.
func modelled(facts []*drawnFact) told {
	want := told{Outcomes: map[kv.Outcome]int{}, Types: map[string]kv.TypeCount{}, Doors: map[string]int{}, Minutes: map[int][2]int{}}
	state, undone := map[int]string{}, map[record.ID]bool{}
	for _, f := range facts {
		switch f.kind {
		case nil:
			state[f.ticket] = f.state
		case record.Undo:
			undone[f.names] = true
		}
	}
	live := func(f *drawnFact) bool { return f.kind == record.Checkin && f.counts() && !undone[f.id] }
	sorted := slices.SortedFunc(slices.Values(facts), func(a, b *drawnFact) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	in := map[int]int{}
	for _, f := range sorted {
		minute := want.Minutes[f.hlc]
		switch {
		case f.kind == record.Scan:
			want.Outcomes[kv.Blocked]++
			minute[1]++
		case f.kind == record.Checkin && f.counts() && undone[f.id]:
			want.Outcomes[kv.Undone]++
		case live(f):
			i := slices.IndexFunc(sorted, func(o *drawnFact) bool {
				return live(o) && o.before(f) && o.list == f.list && (o.code == f.code || o.ticket == f.ticket)
			})
			id := record.Checkin.FormatID(f.id)
			if i >= 0 {
				want.Outcomes[kv.AlreadyAdmitted]++
				want.Doubles = append(want.Doubles, id+" already_admitted after "+record.Checkin.FormatID(sorted[i].id))
				break
			}
			if state[f.ticket] == "cancelled" {
				want.Doubles = append(want.Doubles, id+" cancelled")
			}
			want.Outcomes[kv.Admitted]++
			want.Admitted++
			want.Doors[fmt.Sprint("door ", f.code)]++
			minute[0]++
			in[f.ticket]++
		}
		if minute != [2]int{} {
			want.Minutes[f.hlc] = minute
		}
	}
	for ticket, sort := range []string{1: "Adult", 2: "Adult", 3: "Child"} {
		n := want.Types[sort]
		if n.Admitted += in[ticket]; sort != "" && (state[ticket] == "" || state[ticket] == "valid") {
			n.Issued++
		}
		want.Types[sort] = n
	}
	maps.DeleteFunc(want.Types, func(_ string, n kv.TypeCount) bool { return n == kv.TypeCount{} })
	return want
}

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
			c := kv.Config{Dir: t.TempDir(), Clock: kvtest.NewClock(sunday).Now}
			s := reopenable(t, c)
			event := newEvent(t, s, "")
			for i, sort := range []string{"Adult", "Adult", "Child"} {
				newTicket(t, s, event, fmt.Sprint("T", i), fmt.Sprintf(`,"type":%q`, sort))
			}
			polled := rapid.IntRange(0, 3).Draw(r, "polled")
			for i, f := range order {
				f.put(t, s, event)
				if polled > 0 && i%polled == 0 {
					if got := toldBy(t, s, event); !gocmp.Equal(modelled(order[:i+1]), got) {
						r.Fatalf("after %d facts: %s", i+1, gocmp.Diff(modelled(order[:i+1]), got))
					}
				}
			}
			if diff := gocmp.Diff(want, toldBy(t, s, event)); diff != "" {
				r.Fatalf("the facts say something else: %s", diff)
			}
			healthy(t, s)
			closed(t, s)
			s = reopenable(t, c)
			if diff := gocmp.Diff(want, toldBy(t, s, event)); diff != "" {
				r.Errorf("after a restart: %s", diff)
			}
			closed(t, s)
		}
	})
}

// TestScansOfAnOfflineDoor hands in what was seen while there was no link.
func TestScansOfAnOfflineDoor(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, "")
	for _, code := range []string{"K1", "K2", "K3"} {
		newTicket(t, s, event, code, "")
	}
	p := door(t, s, event)
	first := scanned(t, s, p, kv.Attempt{Event: event, Code: "K1", Door: "north"}, kv.Admitted)
	clock.Move(time.Hour)
	seen := sunday.Add(10 * time.Minute)
	batch := []kv.Attempt{
		{Event: event, Code: "K2", Nonce: "a", At: seen},
		{Event: event, Code: "K1", Nonce: "b", At: seen, LetIn: true},
		{Event: event, Code: "K3", Nonce: "a", At: seen}, // another code's nonce
		{Event: event, Code: "K1", Nonce: "c", At: seen},
		{Event: event, Code: "K2", Nonce: "a", At: seen}, // handed in twice
		{Event: event, Code: "??", Nonce: "d", At: seen, LetIn: true},
		{Event: event, Code: "K3", At: sunday.AddDate(9, 0, 0), LetIn: true},
	}
	want := []kv.Outcome{kv.Admitted, kv.AlreadyAdmitted, "", kv.AlreadyAdmitted, kv.Admitted, kv.UnknownCode, kv.Admitted}
	var before []kv.Judged
	for round := range 2 {
		got, err := s.CheckInAll(p, batch)
		if err != nil {
			t.Fatal(err)
		}
		for i, j := range got {
			if j.Outcome != want[i] && !(round == 1 && i == 6) || (j.Err != nil) != (i == 2) {
				t.Errorf("round %d, scan %d = %+v, want %q", round, i, j, want[i])
			}
			if (j.Double != "") != (i == 1 || round == 1 && i == 6) {
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
	page, err := s.DoubleEntries(p, kv.DoubleQuery{Event: event, Limit: 10})
	if err != nil || page.Count != 2 || page.Entries[0].CheckinID != before[1].Double || page.Entries[0].Basis != "offline" ||
		page.Entries[0].First.CheckinID != first.CheckinID || !page.Entries[0].At.Equal(seen) {
		t.Errorf("double entries = %+v, %v", page, err)
	}
	if n := pageOf(t, s, record.Checkin).Count; n != 5 {
		t.Errorf("%d check-ins are written, want 3 admissions and 2 double entries", n)
	}
	healthy(t, s)
}

// TestADayOfScansBelongsToItsDay: at a daily event an offline scan admits to the day on which it was made.
func TestADayOfScansBelongsToItsDay(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, `,"list_rule":"daily"`)
	newTicket(t, s, event, "K1", "")
	p := door(t, s, event)
	clock.Move(24 * time.Hour)
	for i, at := range []time.Time{sunday, sunday.AddDate(0, 0, 5)} { // yesterday's, and one of a clock that is ahead
		got, err := s.CheckInAll(p, []kv.Attempt{{Event: event, Code: "K1", At: at}})
		if err != nil || got[0].Outcome != kv.Admitted {
			t.Errorf("scan %d = %+v, %v, want an admission", i, got, err)
		}
	}
	scanned(t, s, p, kv.Attempt{Event: event, Code: "K1"}, kv.AlreadyAdmitted) // the second one was today's
}

// TestDoubleEntriesAreCounted reads the gauge over what is listed, and over a restart.
func TestDoubleEntriesAreCounted(t *testing.T) {
	c := kv.Config{Dir: folder(t)}
	registry := prometheus.NewRegistry()
	c.Registerer = registry
	counted := func(want float64) {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "doorward_double_entries" && f.GetMetric()[0].GetGauge().GetValue() != want {
				t.Errorf("doorward_double_entries = %v, want %v", f.GetMetric()[0].GetGauge().GetValue(), want)
			}
		}
	}
	s := reopenable(t, c)
	event := newEvent(t, s, "")
	ticket := newTicket(t, s, event, "K1", "")
	counted(0)
	first := scanned(t, s, kv.Operator(), kv.Attempt{Event: event, Code: "K1"}, kv.Admitted)
	for range 2 {
		scanned(t, s, kv.Operator(), kv.Attempt{Event: event, Code: "K1", LetIn: true}, kv.AlreadyAdmitted)
	}
	counted(2)
	patched(t, s, record.Ticket, ticket, `{"state":"cancelled"}`)
	counted(3)
	closed(t, s)
	s = reopenable(t, c)
	counted(3)
	undone(t, s, kv.Operator(), event, first.CheckinID)
	counted(2)
	patched(t, s, record.Ticket, ticket, `{"state":"refunded"}`)
	counted(1)
	closed(t, s)
}
