package rehearsal

import (
	"slices"
	"strings"
	"testing"
	"time"

	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/folder"
)

// TestAReportSaysWhatTheEventLacks draws one event after the other.
func TestAReportSaysWhatTheEventLacks(t *testing.T) {
	paulo, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	evening := time.Date(2026, 12, 5, 19, 30, 0, 0, paulo)
	code := "K7QP2M"
	type event struct {
		known
		tickets  []ticket
		outcomes map[string]int
		machine  *time.Location
	}
	for what, c := range map[string]struct {
		change func(*event)
		want   string
	}{
		"an event":                     {func(*event) {}, ""},
		"a machine in UTC":             {func(e *event) { e.machine = time.UTC }, ""},
		"a day without an hour":        {func(e *event) { e.start = time.Date(2026, 12, 5, 0, 0, 0, 0, paulo) }, ""},
		"without tickets":              {func(e *event) { e.tickets = nil }, "no_tickets"},
		"that is not active":           {func(e *event) { e.open = false }, "event_closed"},
		"of last week":                 {func(e *event) { e.now = evening.Add(7 * 24 * time.Hour) }, "event_over"},
		"that goes on":                 {func(e *event) { e.now = evening.Add(time.Hour) }, ""},
		"of which tickets begin late":  {func(e *event) { e.outcomes["not_yet_valid"] = 3 }, "not_yet_valid"},
		"of which tickets end early":   {func(e *event) { e.outcomes["no_longer_valid"] = 3 }, "no_longer_valid"},
		"at night":                     {func(e *event) { e.start = time.Date(2026, 12, 5, 3, 30, 0, 0, paulo) }, "wrong_zone"},
		"on a machine of another zone": {func(e *event) { e.machine = time.FixedZone("there", 3600) }, "wrong_zone"},
		"with a clock that is doubted": {func(e *event) { e.doubted = true }, "clock_doubted"},
		"with much that is missing":    {func(e *event) { e.doubted, e.open, e.tickets = true, false, nil }, "no_tickets event_closed clock_doubted"},
	} {
		e := event{known{"Festa", evening, evening.Add(3 * time.Hour), true, false, evening.Add(-24 * time.Hour)}, []ticket{{1, &code}}, map[string]int{admitted: 1}, paulo}
		c.change(&e)
		seen := newTally()
		seen.outcomes = e.outcomes
		conf := Config{Opening: control.Opening{Folder: &folder.Folder{Dir: "data", Zone: paulo, Timezone: "America/Sao_Paulo"}}, Event: 7, Helpers: 4, Local: e.machine}
		r := conf.report(e.known, e.tickets, seen, time.Second, nil)
		var codes []string
		for _, m := range r.Missing {
			codes = append(codes, m.Code)
		}
		if got := strings.Join(codes, " "); got != c.want || r.Well() != (c.want == "") {
			t.Errorf("%s lacks %q, want %q", what, got, c.want)
		}
	}
}

// TestAReportSaysWhatWasNotKept: an admission that is not in the store, and a ticket that was admitted twice.
func TestAReportSaysWhatWasNotKept(t *testing.T) {
	one, other := newTally(), newTally()
	first, second, third := "A", "B", "C"
	one.note(ticket{ID: 1}, ruling{Outcome: admitted, Checkin: &first})
	other.note(ticket{ID: 1}, ruling{Outcome: admitted, Checkin: &second})
	other.note(ticket{ID: 2}, ruling{Outcome: admitted, Checkin: &third})
	other.note(ticket{ID: 2}, ruling{Outcome: admitted, Checkin: &third}) // the same answer again
	one.add(other)
	if n := one.twice(); n != 1 {
		t.Errorf("%d tickets were admitted twice, want 1", n)
	}
	if n := one.lost(map[string]bool{"A": true, "C": true}); n != 1 {
		t.Errorf("%d admissions are lost, want 1", n)
	}
	r := Report{Twice: 1}
	if r.Well() {
		t.Error("a ticket that was admitted twice is well")
	}
}

// TestDealScansEveryTicketAtADoor: each ticket once, one of ten twice and then at two doors, and at each door a code that is no ticket's.
func TestDealScansEveryTicketAtADoor(t *testing.T) {
	var tickets []ticket
	for i := range 95 {
		tickets = append(tickets, ticket{ID: int64(i + 1)})
	}
	times := map[int64][]int{}
	for door, plan := range deal(tickets, 3) {
		for _, one := range plan {
			times[one.ID] = append(times[one.ID], door)
		}
	}
	if len(times[0]) != 3 || len(times) != 96 {
		t.Fatalf("%d unknown codes, %d tickets", len(times[0]), len(times)-1)
	}
	twice := 0
	for id, doors := range times {
		slices.Sort(doors)
		if id != 0 && len(doors) == 2 && doors[0] != doors[1] {
			twice++
		}
	}
	if twice != 10 {
		t.Errorf("%d tickets are scanned at two doors, want 10", twice)
	}
}
