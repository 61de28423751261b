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
