package kv_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/value"
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
	verdict         string // of a check-in
	review          bool   // it waits for staff
}

func (f *drawnFact) counts() bool {
	refused := slices.Contains([]string{"", "unpaid", "unknown_code"}, f.verdict) && (f.verdict == "" || f.direction == "in" && !f.review)
	return f.direction != "over" && f.list != "workshop" && refused
}

// shares tells whether two are of one code or ticket, on one list.
func (f *drawnFact) shares(o *drawnFact) bool {
	return f.list == o.list && (f.code == o.code || f.ticket != 0 && f.ticket == o.ticket)
}

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
			direction: rapid.SampledFrom([]string{"in", "in", "in", "in", "in", "out", "out", "over"}).Draw(t, "direction"), hlc: rapid.IntRange(1, 6).Draw(t, "hlc")}
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
		if f.kind == record.Checkin && rapid.IntRange(0, 2).Draw(t, "let in") == 0 {
			f.verdict, f.review = rapid.SampledFrom([]string{"unpaid", "unpaid", "unknown_code", "admitted", "sold_out"}).Draw(t, "verdict"), rapid.IntRange(0, 4).Draw(t, "review") == 0
			if f.verdict == "unknown_code" {
				f.ticket = 0
			}
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
	if err := kv.PutFact(s, f.kind, f.id, f.members(event)...); err != nil {
		t.Fatalf("PutFact(%+v): %v", f, err)
	}
}

// members are what a fact says.
func (f *drawnFact) members(event int64) []value.Member {
	text := func(name, v string) value.Member { return value.Member{Name: name, Value: value.Quote(v)} }
	members := []value.Member{{Name: "event_id", Value: value.Number(event)}}
	if f.ticket != 0 {
		members = append(members, value.Member{Name: "ticket_id", Value: value.Number(int64(f.ticket))})
	}
	members = append(members, text("code_hash", fmt.Sprintf("%032d", f.code)), text("list", f.list), text("direction", f.direction), text("door", fmt.Sprint("door ", f.code)),
		text("hlc", fmt.Sprintf("%016x", uint64(f.hlc))), text("at", fmt.Sprintf("2026-11-22T19:%02d:30Z", f.hlc)))
	if f.review {
		members = append(members, value.Member{Name: "flags", Value: value.Texts(admission.FlagNeedsReview)})
	}
	if f.verdict != "" {
		members = append(members, text("basis", "offline"), text("verdict", f.verdict))
	}
	switch f.kind {
	case record.Undo:
		members = append(members, text("checkin_id", record.Checkin.FormatID(f.names)))
	case record.Scan:
		members = append(members, text("outcome", "blocked"))
	}
	return members
}

// told is what a store says of an event.
type told struct {
	Doubles  []string // check-in, why, and the one before
	Admitted int
	LetIn    int
	Inside   int
	Entries  int // of today
	Outcomes map[outcome.Outcome]int
	Types    map[string]door.TypeCount
	Doors    map[string]int
	Minutes  map[int][2]int
}

func toldBy(t testing.TB, s *kv.Store, event int64) told {
	t.Helper()
	st, err := s.Door.Status(auth.Operator(), event)
	if err != nil {
		t.Fatalf("Status: %v", err)
	}
	page, err := s.Door.DoubleEntries(auth.Operator(), event, desk.Part{Limit: 100})
	if err != nil || page.Count != len(page.Items) || st.Doubles != page.Count {
		t.Fatalf("DoubleEntries = %+v, %v, the status counts %d", page, err, st.Doubles)
	}
	got := told{Admitted: st.Admitted, LetIn: st.LetIn, Inside: st.Inside, Entries: st.EntriesToday, Outcomes: map[outcome.Outcome]int{}, Types: st.Types, Doors: st.Doors, Minutes: map[int][2]int{}}
	got.Doubles = doubleLines(page)
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

// doubleLines are the lines of told.Doubles.
func doubleLines(page desk.PageOf[door.DoubleEntry]) (lines []string) {
	for _, e := range page.Items {
		line := e.CheckinID + " " + string(e.Reason)
		if e.First != nil {
			line += " after " + e.First.CheckinID
		}
		lines = append(lines, line)
	}
	return lines
}

// modelled is the same said in the plainest way: every check-in against every other.
func modelled(facts []*drawnFact) told {
	want := told{Outcomes: map[outcome.Outcome]int{}, Types: map[string]door.TypeCount{}, Doors: map[string]int{}, Minutes: map[int][2]int{}}
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
			want.Outcomes[outcome.Blocked]++
			minute[1]++
		case f.kind == record.Checkin && f.counts() && undone[f.id]:
			want.Outcomes[outcome.Undone]++
		case live(f):
			var inside *drawnFact
			for _, o := range sorted {
				switch {
				case !live(o) || !o.before(f) || !o.shares(f):
				case o.direction == "out":
					inside = nil
				case inside == nil:
					inside = o
				}
			}
			if f.direction == "out" {
				if inside == nil {
					want.Outcomes[outcome.NotInside]++
				} else {
					want.Outcomes[outcome.Left]++
				}
				break
			}
			id, after := record.Checkin.FormatID(f.id), ""
			if inside != nil {
				after = " after " + record.Checkin.FormatID(inside.id)
			}
			if f.verdict != "" {
				want.Outcomes[outcome.Outcome(f.verdict)]++
				want.Doubles = append(want.Doubles, id+" "+f.verdict+after)
				want.LetIn++
				minute[1]++
				break
			}
			if inside != nil {
				want.Outcomes[outcome.AlreadyAdmitted]++
				want.Doubles = append(want.Doubles, id+" already_admitted"+after)
				break
			}
			if state[f.ticket] == "cancelled" {
				want.Doubles = append(want.Doubles, id+" cancelled")
			}
			want.Outcomes[outcome.Admitted]++
			want.Admitted++
			want.Doors[fmt.Sprint("door ", f.code)]++
			minute[0]++
			in[f.ticket]++
		}
		if minute != [2]int{} {
			want.Minutes[f.hlc] = minute
		}
	}
	want.Entries = want.Admitted + want.LetIn // all are of one day
	want.Inside = want.Entries - want.Outcomes[outcome.Left]
	for ticket, sort := range []string{1: "Adult", 2: "Adult", 3: "Child"} {
		n := want.Types[sort]
		if n.Admitted += min(in[ticket], 1); sort != "" && (state[ticket] == "" || state[ticket] == "valid") {
			n.Issued++
		}
		want.Types[sort] = n
	}
	maps.DeleteFunc(want.Types, func(_ string, n door.TypeCount) bool { return n == door.TypeCount{} })
	return want
}
