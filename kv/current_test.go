package kv_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// TestCurrentEventsAreThoseThatDoorsAreBusyWith walks a clock past events: each is current from a day before its start to a day after its
// end, and for 12 hours after a scan; where none is, the next one is.
func TestCurrentEventsAreThoseThatDoorsAreBusyWith(t *testing.T) {
	clock := kvtest.NewClock(sunday)
	s := kvtest.OpenConfig(t, kv.Config{Clock: clock.Now})
	for _, e := range []struct {
		name string
		day  int
	}{{"Past", 1}, {"Tonight", 22}, {"Friday", 27}, {"Saturday", 28}} {
		kvtest.Create(t, s, record.Event, fmt.Sprintf(`{"name":%q,"start_datetime":"2026-11-%02dT12:00:00Z","end_datetime":"2026-11-%02dT22:00:00Z"}`, e.name, e.day, e.day))
	}
	want := func(names ...string) {
		t.Helper()
		all, err := s.Door.CurrentEvents(auth.Operator())
		var got []string
		for _, e := range all {
			got = append(got, e.Name)
		}
		if diff := cmp.Diff(names, got); err != nil || diff != "" {
			t.Errorf("on %v, %v: %s", clock.Now(), err, diff)
		}
	}
	want("Tonight")
	clock.Move(48 * time.Hour) // Tuesday
	want("Friday")             // the next one
	clock.Move(48 * time.Hour) // Thursday, 19:00
	want("Friday")
	clock.Move(24 * time.Hour) // Friday
	want("Friday", "Saturday")
	scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: "none"}, outcome.UnknownCode)
	want("Past", "Friday", "Saturday")
	if e, err := s.Door.CurrentEvent(auth.Operator(), 1); err != nil || e.Name != "Past" || !e.Scanned.Equal(clock.Now()) {
		t.Errorf("CurrentEvent = %+v, %v, want it as scanned now", e, err)
	}
	clock.Move(13 * time.Hour) // Saturday, 8:00
	want("Friday", "Saturday")
	clock.Move(90 * 24 * time.Hour)
	want()
	if _, err := s.Door.CurrentEvent(auth.Operator(), 99); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("CurrentEvent of none: %v, want ErrNotFound", err)
	}
	if _, err := s.Door.DoorEvent(auth.Operator(), 99); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("DoorEvent of none: %v, want ErrNotFound", err)
	}
	door := kvtest.Login(t, s, "event:1", "checkin:*")
	if _, err := s.Door.CurrentEvents(door); !errors.Is(err, auth.ErrForbidden) {
		t.Errorf("CurrentEvents for a door: %v, want ErrForbidden", err)
	}
}

// TestAStatusTellsWhenADoorScannedLast takes check-ins and refusals of this store, and those of a laptop whose clock is wrong.
func TestAStatusTellsWhenADoorScannedLast(t *testing.T) {
	clock := kvtest.NewClock(sunday)
	s := kvtest.OpenConfig(t, kv.Config{Clock: clock.Now})
	event := newEvent(t, s, "")
	newTicket(t, s, event, "K1", "")
	want := func(door string, at time.Time) {
		t.Helper()
		st, err := s.Door.Status(auth.Operator(), event)
		if got := st.Scanned[door]; err != nil || !got.Equal(at) {
			t.Errorf("Scanned[%s] = %v, %v, want %v", door, got, err, at)
		}
	}
	scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "K1", Door: "North"}, outcome.Admitted)
	want("North", sunday)
	clock.Move(time.Minute)
	scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "none", Door: "North"}, outcome.UnknownCode)
	want("North", sunday.Add(time.Minute))
	clock.Move(time.Hour)
	for i, c := range []struct {
		door   string
		ahead  time.Duration // of the laptop's clock, which it has measured
		knows  bool          // it has
		before time.Duration // of now, when the scan was made
		want   time.Duration
	}{
		{"right", 0, true, 20 * time.Minute, 20 * time.Minute},
		{"ahead", 6 * 24 * time.Hour, true, 20 * time.Minute, 20 * time.Minute},
		{"behind", -8 * time.Minute, true, 20 * time.Minute, 20 * time.Minute},
		{"ahead and unmeasured", 6 * 24 * time.Hour, false, 20 * time.Minute, 0}, // it came now, so it was not later
	} {
		now := clock.Now()
		members := []value.Member{{Name: "event_id", Value: value.Number(event)}, {Name: "code_hash", Value: value.Quote(fmt.Sprintf("%032d", i))},
			{Name: "door", Value: value.Quote(c.door)}, {Name: "node", Value: value.Quote(ulid.MustNew(1, nil).String())},
			{Name: "hlc", Value: value.Quote(fmt.Sprintf("%016x", i+1))}, {Name: "at", Value: value.Time(now.Add(c.ahead - c.before))}}
		if c.knows {
			members = append(members, value.Member{Name: "clock_offset_ms", Value: value.Number(-c.ahead.Milliseconds())})
		}
		members = append(members, value.Member{Name: "outcome", Value: value.Quote("unknown_code")})
		id, _ := record.Scan.ParseID(ulid.MustNew(uint64(i+1), nil).String()) // it is one
		if err := kv.PutFact(s, record.Scan, id, members...); err != nil {
			t.Fatal(err)
		}
		want(c.door, now.Add(-c.want))
	}
}

// TestAStatusForgetsATicketThatHasMoved asks before and after a ticket that was sold for one event is given to another.
func TestAStatusForgetsATicketThatHasMoved(t *testing.T) {
	s := kvtest.Open(t)
	first, second := newEvent(t, s, ""), newEvent(t, s, "")
	ticket := newTicket(t, s, first, "K1", `,"type":"Adult"`)
	newTicket(t, s, first, "K2", `,"type":"Child"`)
	newTicket(t, s, second, "K3", `,"type":"Child"`)
	one, both := map[string]door.TypeCount{"Child": {Issued: 1}}, map[string]door.TypeCount{"Adult": {Issued: 1}, "Child": {Issued: 1}}
	statusIs(t, s, first, 2, 0, both)
	statusIs(t, s, second, 1, 0, one)
	for _, move := range []struct{ to, from int64 }{{second, first}, {first, second}} {
		patched(t, s, record.Ticket, ticket, fmt.Sprintf(`{"event_id":%d}`, move.to))
		statusIs(t, s, move.from, 1, 0, one)
		statusIs(t, s, move.to, 2, 0, both)
	}
}

// TestAStatusForgetsWhatWasReleased asks before and after a laptop gives up what it holds of an event, and what has left it.
func TestAStatusForgetsWhatWasReleased(t *testing.T) {
	s := kvtest.Open(t)
	kvtest.Create(t, s, record.Church, `{"name":"A"}`)
	event := newEvent(t, s, `,"church_id":1`)
	left := newTicket(t, s, event, "K1", `,"type":"Adult"`)
	newTicket(t, s, event, "K2", `,"type":"Adult"`)
	scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "K2", Door: "North"}, outcome.Admitted)
	statusIs(t, s, event, 2, 1, map[string]door.TypeCount{"Adult": {Issued: 2, Admitted: 1}})
	name, upto := fmt.Sprint("event-", event), s.Tables.Commits.Seq()
	if _, err := s.Laptop.Leave(auth.Operator(), []string{record.Ticket.DocID(record.Int(left))}, map[string]uint64{name: upto}); err != nil {
		t.Fatal(err)
	}
	statusIs(t, s, event, 1, 1, map[string]door.TypeCount{"Adult": {Issued: 1, Admitted: 1}})
	if err := s.Laptop.Release(auth.Operator(), name, upto, "church-1"); err != nil {
		t.Fatal(err)
	}
	statusIs(t, s, event, 0, 0, map[string]door.TypeCount{})
	newTicket(t, s, event, "K3", `,"type":"Child"`)
	statusIs(t, s, event, 1, 0, map[string]door.TypeCount{"Child": {Issued: 1}})
}

// statusIs wants a status to count tickets and admissions.
func statusIs(t *testing.T, s *kv.Store, event int64, issued, admitted int, types map[string]door.TypeCount) {
	t.Helper()
	st, err := s.Door.Status(auth.Operator(), event)
	if err != nil || st.Issued != issued || st.Admitted != admitted {
		t.Errorf("Status(%d) = %+v, %v, want %d issued and %d admitted", event, st, err, issued, admitted)
	}
	if diff := cmp.Diff(types, st.Types); diff != "" {
		t.Errorf("the types of event %d: %s", event, diff)
	}
}

func TestTicketsAreCountedByState(t *testing.T) {
	s := kvtest.Open(t)
	first, second := newEvent(t, s, ""), newEvent(t, s, "")
	for i := range 3 {
		newTicket(t, s, first, fmt.Sprint("V", i), "")
	}
	newTicket(t, s, first, "U", `,"state":"unpaid"`)
	newTicket(t, s, second, "C", `,"state":"cancelled"`)
	for event, want := range map[int64]map[string]int{
		0:      {"valid": 3, "unpaid": 1, "cancelled": 1, "refunded": 0, "blocked": 0},
		first:  {"valid": 3, "unpaid": 1, "cancelled": 0, "refunded": 0, "blocked": 0},
		second: {"valid": 0, "unpaid": 0, "cancelled": 1, "refunded": 0, "blocked": 0},
	} {
		got, err := s.Figures.TicketStates(auth.Operator(), event)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("TicketStates(%d), %v: %s", event, err, diff)
		}
	}
	counts, err := s.Figures.RecordCounts(auth.Operator())
	if err != nil || counts["ticket"] != 5 || counts["event"] != 2 || counts["person"] != 0 {
		t.Errorf("RecordCounts = %v, %v, want 5 tickets and 2 events", counts, err)
	}
	church := kvtest.Login(t, s, "event:1", "*:*")
	if _, err := s.Figures.RecordCounts(church); !errors.Is(err, auth.ErrForbidden) {
		t.Errorf("RecordCounts for a key of an event: %v, want ErrForbidden", err)
	}
}
