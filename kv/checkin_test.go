package kv_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// gate makes a door's key for an event and logs it in.
func gate(t testing.TB, s *kv.Store, event int64) auth.Principal {
	t.Helper()
	return kvtest.Login(t, s, fmt.Sprintf("event:%d", event), "checkin:*")
}

func newEvent(t testing.TB, s *kv.Store, more string) int64 {
	t.Helper()
	return kvtest.Create(t, s, record.Event, `{"name":"Sunday","start_datetime":"2026-11-22T19:00:00Z"`+more+`}`)
}

func newTicket(t testing.TB, s *kv.Store, event int64, code, more string) int64 {
	t.Helper()
	return kvtest.Create(t, s, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":%q%s}`, event, code, more))
}

// scanned wants an attempt to have an outcome, and answers the decision.
func scanned(t testing.TB, s *kv.Store, p auth.Principal, a door.Attempt, want outcome.Outcome) door.Decision {
	t.Helper()
	d, err := s.Door.CheckIn(p, a)
	if err != nil || d.Outcome != want {
		t.Fatalf("CheckIn(%+v) = %+v, %v, want %s", a, d, err, want)
	}
	return d
}

func TestCheckInReadsCodes(t *testing.T) {
	s, _ := opened(t)
	event, other := newEvent(t, s, ""), newEvent(t, s, "")
	newTicket(t, s, other, "ELSEWHERE-1", "")
	for _, code := range []string{"K7QP-2M", "a", "a/b", "ticket-9", "Ünïq-ﬁ", "twin-1", "TWIN1", "g-2Aa1Bb", "g-3Cc4Dd", "last-7"} {
		newTicket(t, s, event, code, "")
	}
	both := kvtest.Login(t, s, fmt.Sprintf("event:%d,%d", event, other), "checkin:*")
	here := gate(t, s, event)
	for _, c := range []struct {
		name, code string
		ticket     string // the code of the ticket that is meant; "" = none
		want       outcome.Outcome
	}{
		{"exact", "K7QP-2M", "K7QP-2M", ""},
		{"spaces around are trimmed", " \tK7QP-2M\n", "K7QP-2M", ""},
		{"lower case without the hyphen is the normal form", "k7qp2m", "K7QP-2M", ""},
		{"spaces within are dropped", "k7 qp 2m", "K7QP-2M", ""},
		{"full width letters are folded", "Ｋ７ＱＰ２Ｍ", "K7QP-2M", ""},
		{"a ligature is taken apart", "ünïqfi", "Ünïq-ﬁ", ""},
		{"the last segment of a URL", "https://tickets.example/e/9/ticket-9", "ticket-9", ""},
		{"a URL that ends with a slash and a query", "https://tickets.example/ticket-9/?utm=1#x", "ticket-9", ""},
		{"an escaped segment", "https://tickets.example/K7QP%2D2M", "K7QP-2M", ""},
		{"the normal form of a URL's segment", "https://tickets.example/k7qp2m", "K7QP-2M", ""},
		{"the exact form goes before the normal one", "twin-1", "twin-1", ""},
		{"and so does the other exact form", "TWIN1", "TWIN1", ""},
		{"a normal form that two exact forms share means neither", "Twin 1", "", outcome.UnknownCode},
		{"what is no code", "nonsense", "", outcome.UnknownCode},
		{"a path that is no URL has no segments", "x/a", "", outcome.UnknownCode},
		{"blank", "  ", "", outcome.UnknownCode},
		{"the value of a URL's query", "https://lu.example/check-in/evt-1?pk=g-2Aa1Bb", "g-2Aa1Bb", ""},
		{"a URL in which two tickets are named", "https://lu.example/g-3Cc4Dd/evt-1?pk=g-2Aa1Bb", "", outcome.UnknownCode},
		{"a URL that names one ticket twice", "https://lu.example/G3CC4DD/evt-1?pk=g-3Cc4Dd", "g-3Cc4Dd", ""},
		{"the sign of a symbology before the code", "]C1last-7", "last-7", ""},
		{"a hyphen of another keyboard", "last'7", "last-7", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.ticket == "" {
				scanned(t, s, here, door.Attempt{Event: event, Code: c.code}, c.want)
				scanned(t, s, both, door.Attempt{Event: event, Code: c.code}, c.want)
				return
			}
			d, err := s.Door.CheckIn(here, door.Attempt{Event: event, Code: c.code})
			if err != nil || d.CheckinID == "" {
				t.Fatalf("CheckIn(%q) = %+v, %v, want an admission", c.code, d, err)
			}
			again := scanned(t, s, here, door.Attempt{Event: event, Code: c.ticket}, outcome.AlreadyAdmitted)
			if again.CheckinID != d.CheckinID {
				t.Errorf("CheckIn(%q) admitted another ticket than %q", c.code, c.ticket)
			}
		})
	}
	for _, code := range []string{"ELSEWHERE-1", "elsewhere1", "https://x.example/ELSEWHERE-1", "https://x.example/?t=ELSEWHERE-1"} {
		scanned(t, s, both, door.Attempt{Event: event, Code: code}, outcome.WrongEvent)
		scanned(t, s, here, door.Attempt{Event: event, Code: code}, outcome.UnknownCode)
	}
	if _, err := s.Door.CheckIn(here, door.Attempt{Event: other, Code: "ELSEWHERE-1"}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("CheckIn at an event out of scope = %v, want ErrNotFound", err)
	}
	healthy(t, s)
}

// TestHelpersAreToldOfOtherEventsOfTheirChurch: at a door, and not through /v1.
func TestHelpersAreToldOfOtherEventsOfTheirChurch(t *testing.T) {
	s, _ := opened(t)
	home, far := kvtest.Create(t, s, record.Church, `{"name":"A"}`), kvtest.Create(t, s, record.Church, `{"name":"B"}`)
	of := func(church int64) int64 { return newEvent(t, s, fmt.Sprintf(`,"church_id":%d`, church)) }
	event, free := of(home), newEvent(t, s, "")
	for code, other := range map[string]int64{"SISTER-1": of(home), "FAR-1": of(far), "FREE-1": free, "FREE-2": newEvent(t, s, "")} {
		newTicket(t, s, other, code, "")
	}
	for _, test := range []struct {
		event  int64
		code   string
		helper bool
		want   outcome.Outcome
	}{
		{event, "SISTER-1", true, outcome.WrongEvent}, {event, "sister 1", true, outcome.WrongEvent}, {event, "SISTER-1", false, outcome.UnknownCode},
		{event, "FAR-1", true, outcome.UnknownCode}, {event, "FREE-1", true, outcome.UnknownCode}, {event, "NONE-1", true, outcome.UnknownCode},
		{free, "FREE-2", true, outcome.UnknownCode}, // two events without a church have none in common
	} {
		scanned(t, s, gate(t, s, test.event), door.Attempt{Event: test.event, Code: test.code, Helper: test.helper}, test.want)
	}
	healthy(t, s)
}

func TestCheckInJudgesValidityBeforeDuplication(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, "")
	p := gate(t, s, event)
	for state, want := range map[string]outcome.Outcome{"cancelled": outcome.Cancelled, "refunded": outcome.Refunded, "unpaid": outcome.Unpaid, "blocked": outcome.Blocked} {
		id := newTicket(t, s, event, state, "")
		scanned(t, s, p, door.Attempt{Event: event, Code: state}, outcome.Admitted)
		patched(t, s, record.Ticket, id, `{"state":"`+state+`"}`)
		scanned(t, s, p, door.Attempt{Event: event, Code: state}, want)
		patched(t, s, record.Event, event, `{"active":false}`)
		scanned(t, s, p, door.Attempt{Event: event, Code: state}, outcome.EventClosed)
		patched(t, s, record.Event, event, `{"active":true,"enabled":false}`)
		scanned(t, s, p, door.Attempt{Event: event, Code: state}, outcome.EventClosed)
		patched(t, s, record.Event, event, `{"enabled":true}`)
		patched(t, s, record.Ticket, id, `{"state":"valid"}`)
		scanned(t, s, p, door.Attempt{Event: event, Code: state}, outcome.AlreadyAdmitted)
	}
	newTicket(t, s, event, "window", `,"valid_from":"2026-11-22T20:00:00Z","valid_until":"2026-11-22T21:00:00Z"`)
	newTicket(t, s, event, "used", `,"valid_until":"2026-11-22T21:00:00Z"`)
	scanned(t, s, p, door.Attempt{Event: event, Code: "used"}, outcome.Admitted)
	for _, step := range []struct {
		move time.Duration
		want outcome.Outcome
	}{
		{time.Hour - time.Microsecond, outcome.NotYetValid}, {time.Microsecond, outcome.Admitted}, {time.Hour, outcome.AlreadyAdmitted},
		{time.Microsecond, outcome.NoLongerValid},
	} {
		clock.Move(step.move)
		scanned(t, s, p, door.Attempt{Event: event, Code: "window"}, step.want)
	}
	scanned(t, s, p, door.Attempt{Event: event, Code: "used"}, outcome.NoLongerValid)
	healthy(t, s)
}

// TestWhatIsNotKnownOfATicketAdmitsNoGuest: a state or a time of a later version came with a pull. A list of paid tickets makes it valid no more than
// a refunded one.
func TestWhatIsNotKnownOfATicketAdmitsNoGuest(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, "")
	p := gate(t, s, event)
	db := opens(t, s, auth.Operator(), fmt.Sprintf("event-%d", event))
	for _, c := range []struct {
		was, is string
		want    outcome.Outcome
	}{
		{`"state":"valid"`, `"state":"waitlisted"`, outcome.Blocked},
		{`"state":"valid"`, `"state":5`, outcome.Blocked},
		{`"valid_from":null`, `"valid_from":"doors open"`, outcome.NotYetValid},
		{`"valid_until":null`, `"valid_until":"late"`, outcome.NoLongerValid},
	} {
		id := newTicket(t, s, event, c.is, "")
		if err := push(t, db, onTop(t, db, record.Ticket.DocID(record.Int(id)), c.was, c.is)); err != nil {
			t.Fatalf("%s: %v", c.is, err)
		}
		scanned(t, s, p, door.Attempt{Event: event, Code: c.is}, c.want)
		if c.want != outcome.Blocked {
			continue
		}
		res, err := s.Desk.Upsert(auth.Operator(), []entry.Row{row(t, record.Ticket, id, `{"state":"valid"}`)}, false)
		if err != nil || !errors.As(res[0].Err, new(*table.Conflict)) {
			t.Errorf("%s: a row that says valid = %+v, %v, want a conflict", c.is, res, err)
		}
	}
}

func TestCheckInUnderADoubtedClockJudgesNoWindows(t *testing.T) {
	clock := kvtest.NewClock(sunday)
	s := kvtest.OpenConfig(t, kv.Config{Clock: clock.Now, Built: sunday.Add(time.Hour)})
	event := newEvent(t, s, "")
	p := gate(t, s, event)
	newTicket(t, s, event, "late", `,"valid_until":"2020-01-01T00:00:00Z"`)
	newTicket(t, s, event, "early", `,"valid_from":"2030-01-01T00:00:00Z"`)
	newTicket(t, s, event, "early2", `,"valid_from":"2030-01-01T00:00:00Z"`)
	cancelled := newTicket(t, s, event, "gone", `,"state":"cancelled"`)
	for _, code := range []string{"late", "early"} {
		d := scanned(t, s, p, door.Attempt{Event: event, Code: code}, outcome.Admitted)
		if got := fact(t, s, record.Checkin, d.CheckinID, "flags"); got != `["clock_suspect"]` {
			t.Errorf("flags of an admission under a doubted clock = %s", got)
		}
	}
	scanned(t, s, p, door.Attempt{Event: event, Code: "gone"}, outcome.Cancelled)
	clock.Move(time.Hour)
	scanned(t, s, p, door.Attempt{Event: event, Code: "early2"}, outcome.NotYetValid)
	patched(t, s, record.Ticket, cancelled, `{"state":"valid"}`)
	d := scanned(t, s, p, door.Attempt{Event: event, Code: "gone"}, outcome.Admitted)
	if got := fact(t, s, record.Checkin, d.CheckinID, "flags"); got != `[]` {
		t.Errorf("flags of an admission under a good clock = %s", got)
	}
}

// fact is a member of a stored fact.
func fact(t testing.TB, s *kv.Store, k *record.Kind, id, name string) string {
	t.Helper()
	at, ok := k.ParseID(id)
	if !ok {
		t.Fatalf("%s is no id of a %s", id, k.Name)
	}
	r, err := s.Desk.Retrieve(auth.Operator(), desk.Target{Surface: record.Admin, Kind: k, ID: at})
	if err != nil {
		t.Fatalf("retrieve %s %s: %v", k.Name, id, err)
	}
	return member(r.JSON, name)
}

func TestCheckInTellsOfTheFirstAdmission(t *testing.T) {
	s, clock := opened(t)
	church := kvtest.Create(t, s, record.Church, `{"name":"North"}`)
	event := newEvent(t, s, fmt.Sprintf(`,"church_id":%d`, church))
	newTicket(t, s, event, "K1", `,"holder_name":"Ana Souza","type":"Adult","order":"h-1"`)
	north := gate(t, s, event)
	first := scanned(t, s, north, door.Attempt{Event: event, Code: "K1", Door: "north"}, outcome.Admitted)
	if first.Label != "Ana S." || first.Type != "Adult" || first.Order != "h-1" || first.Holder != nil || !first.AdmittedAt.Equal(sunday) {
		t.Errorf("admission = %+v", first)
	}
	clock.Move(90 * time.Second)
	again := scanned(t, s, north, door.Attempt{Event: event, Code: "k1", Door: "south"}, outcome.AlreadyAdmitted)
	if again.CheckinID != first.CheckinID || again.SecondsAgo != 90 || again.SameDoor || again.Door != "north" || !again.AdmittedAt.Equal(sunday) {
		t.Errorf("second scan = %+v, want the facts of %+v", again, first)
	}
	office := kvtest.Login(t, s, fmt.Sprintf("church:%d", church))
	seen := scanned(t, s, office, door.Attempt{Event: event, Code: "K1", Door: "north"}, outcome.AlreadyAdmitted)
	if seen.Holder == nil || *seen.Holder != "Ana Souza" || !seen.SameDoor {
		t.Errorf("second scan by the office = %+v, want the holder's name", seen)
	}
	unnamed := scanned(t, s, office, door.Attempt{Event: event, Code: "no such code"}, outcome.UnknownCode)
	if unnamed.Label != "" || unnamed.CheckinID != "" {
		t.Errorf("unknown code = %+v, want nothing told", unnamed)
	}
}

func TestDailyListAdmitsOnceADayOfTheZone(t *testing.T) {
	zone := time.FixedZone("BRT", -3*60*60)
	type step struct {
		move time.Duration
		want outcome.Outcome
		list string
	}
	for begins, steps := range map[string][]step{
		`,"day_begins":"00:00"`: {
			{0, outcome.Admitted, `"2026-11-22"`},
			{6 * time.Hour, outcome.AlreadyAdmitted, ""}, // the next day in UTC, the same in the zone
			{2 * time.Hour, outcome.Admitted, `"2026-11-23"`},
			{time.Hour, outcome.AlreadyAdmitted, ""},
			{23 * time.Hour, outcome.Admitted, `"2026-11-24"`},
		},
		"": { // at 04:00
			{0, outcome.Admitted, `"2026-11-22"`},
			{8 * time.Hour, outcome.AlreadyAdmitted, ""}, // midnight
			{4*time.Hour - time.Second, outcome.AlreadyAdmitted, ""},
			{time.Second, outcome.Admitted, `"2026-11-23"`},
			{24 * time.Hour, outcome.Admitted, `"2026-11-24"`},
		},
	} {
		clock := kvtest.NewClock(sunday) // 16:00 in the zone
		s := kvtest.OpenConfig(t, kv.Config{Clock: clock.Now, Zone: zone})
		event := newEvent(t, s, `,"list_rule":"daily"`+begins)
		newTicket(t, s, event, "K1", "")
		p := gate(t, s, event)
		for _, step := range steps {
			clock.Move(step.move)
			d := scanned(t, s, p, door.Attempt{Event: event, Code: "K1"}, step.want)
			if step.list != "" && fact(t, s, record.Checkin, d.CheckinID, "list") != step.list {
				t.Errorf("list of %s = %s, want %s", d.CheckinID, fact(t, s, record.Checkin, d.CheckinID, "list"), step.list)
			}
		}
		healthy(t, s)
	}
}

// TestTheDaysOfAnEventWithCheckInsStay: what a check-in counts for cannot change under it.
func TestTheDaysOfAnEventWithCheckInsStay(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, `,"list_rule":"daily"`)
	newTicket(t, s, event, "K1", "")
	patched(t, s, record.Event, event, `{"day_begins":"05:00"}`)
	scanned(t, s, gate(t, s, event), door.Attempt{Event: event, Code: "K1"}, outcome.Admitted)
	patched(t, s, record.Event, event, `{"day_begins":"05:00","name":"Monday"}`)
	_, err := s.Desk.Update(auth.Operator(), target(record.Event, event), kvtest.Parse(t, record.Event, `{"day_begins":"06:00"}`, false))
	var conflict *table.Conflict
	if !errors.As(err, &conflict) || conflict.Field != "day_begins" {
		t.Errorf("another day_begins = %v, want a *Conflict", err)
	}
}

// TestADailyScanOfTheYearOneCounts: a scanner may say the first hours of the year 1, which are of the year 0 in zones behind UTC.
func TestADailyScanOfTheYearOneCounts(t *testing.T) {
	s := kvtest.OpenConfig(t, kv.Config{Clock: kvtest.NewClock(sunday).Now, Zone: time.FixedZone("BRT", -3*60*60)})
	event := newEvent(t, s, `,"list_rule":"daily"`)
	newTicket(t, s, event, "K1", "")
	p := gate(t, s, event)
	for _, want := range []outcome.Outcome{outcome.Admitted, outcome.AlreadyAdmitted} {
		scanned(t, s, p, door.Attempt{Event: event, Code: "K1", At: time.Date(1, 1, 1, 0, 30, 0, 0, time.UTC)}, want)
	}
	healthy(t, s)
}

// TestAScanOfATimeThatCannotBe: a time ahead of the clock counts as now, one before the scanner's key was made as that moment, and the fact has a
// flag. The times in a file of another system are taken as they are.
func TestAScanOfATimeThatCannotBe(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, `,"list_rule":"daily"`)
	made := clock.Now()
	p := gate(t, s, event)
	clock.Move(2 * time.Hour)
	now := clock.Now()
	const flagged, none = `["clock_suspect"]`, `[]`
	for i, c := range []struct {
		name  string
		by    auth.Principal
		at    time.Time
		told  bool
		want  time.Time
		flags string
	}{
		{"now", p, time.Time{}, false, now, none},
		{"an hour ago", p, now.Add(-time.Hour), false, now.Add(-time.Hour), none},
		{"when the key was made, in whole seconds", p, made.Truncate(time.Second), false, made.Truncate(time.Second), none},
		{"a second before the key was made", p, made.Add(-time.Second), false, made, flagged},
		{"in the year 2000", p, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), false, made, flagged},
		{"in a second", p, now.Add(time.Second), false, now, flagged},
		{"in five days", p, now.AddDate(0, 0, 5), false, now, flagged},
		{"in the year 2000, by the operator", auth.Operator(), time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC), false, time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC), none},
		{"in the year 2000, told by a file", p, time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC), true, time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC), none},
	} {
		code := fmt.Sprint("T", i)
		newTicket(t, s, event, code, "")
		d := scanned(t, s, c.by, door.Attempt{Event: event, Code: code, At: c.at, Told: c.told}, outcome.Admitted)
		at, flags, list := fact(t, s, record.Checkin, d.CheckinID, "at"), fact(t, s, record.Checkin, d.CheckinID, "flags"), fact(t, s, record.Checkin, d.CheckinID, "list")
		if at != string(value.Time(c.want)) || flags != c.flags || list != c.want.Format(`"2006-01-02"`) || !d.AdmittedAt.Equal(c.want) {
			t.Errorf("%s: at %s on %s with flags %s, admitted at %s; want %s with %s", c.name, at, list, flags, d.AdmittedAt, c.want, c.flags)
		}
	}
	scanned(t, s, p, door.Attempt{Event: event, Code: "NONE", At: now.AddDate(0, 0, 5)}, outcome.UnknownCode)
	if refusals := pageOf(t, s, record.Scan); refusals.Count != 1 || !strings.Contains(string(refusals.Results), `"flags":["clock_suspect"]`) {
		t.Errorf("a refusal of a time to come is %s", refusals.Results)
	}
	healthy(t, s)
}

// Two tickets can carry one code once replicas have written them apart from each other.
func TestTwoTicketsOfOneCodeAdmitOnce(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, "")
	low := newTicket(t, s, event, "K-1", `,"type":"low"`)
	high, err := kv.DuplicateTicket(s, kvtest.Parse(t, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"K-1","type":"high"}`, event), true))
	if err != nil {
		t.Fatal(err)
	}
	p := gate(t, s, event)
	for _, code := range []string{"K-1", "k1"} {
		d, err := s.Door.CheckIn(p, door.Attempt{Event: event, Code: code})
		if err != nil || d.CheckinID == "" || d.Type != "low" && code == "K-1" {
			t.Fatalf("CheckIn(%s) = %+v, %v, want the lowest ticket", code, d, err)
		}
	}
	patched(t, s, record.Ticket, low, `{"code":"K-2"}`)
	scanned(t, s, p, door.Attempt{Event: event, Code: "K-2"}, outcome.AlreadyAdmitted) // by the ticket
	d := scanned(t, s, p, door.Attempt{Event: event, Code: "K-1"}, outcome.AlreadyAdmitted)
	if d.Type != "high" {
		t.Errorf("the other ticket of the code (%d) answers %+v", high.Int(), d)
	}
	if n := pageOf(t, s, record.Checkin).Count; n != 1 {
		t.Errorf("%d admissions, want 1", n)
	}
}
