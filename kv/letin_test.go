package kv_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
)

// handedIn hands in scans of guests whom a phone has let in, one nonce each.
func handedIn(t testing.TB, s *kv.Store, p auth.Principal, event int64, codes ...string) []door.Judged {
	t.Helper()
	var scans []door.Attempt
	for i, code := range codes {
		scans = append(scans, door.Attempt{Event: event, Code: code, Nonce: fmt.Sprint(code, " ", i), Door: "North", At: sunday, LetIn: true})
	}
	judged, err := s.Door.CheckInAll(p, scans)
	if err != nil {
		t.Fatal(err)
	}
	return judged
}

// TestGuestsWhomThePhoneLetInStayCounted: each of them is inside, listed with the reason, and taken back by an undo.
func TestGuestsWhomThePhoneLetInStayCounted(t *testing.T) {
	registry, clock := prometheus.NewRegistry(), kvtest.NewClock(sunday)
	c := table.Config{Dir: folder(t), Registerer: registry, Clock: clock.Now}
	s := reopenable(t, c)
	event, other := newEvent(t, s, ""), newEvent(t, s, "")
	newTicket(t, s, other, "OTHER", "")
	newTicket(t, s, event, "GOOD", "")
	codes, want := []string{}, []string{}
	for _, is := range []struct {
		code, more string
		verdict    outcome.Outcome
	}{
		{"UNPAID", `,"state":"unpaid"`, outcome.Unpaid}, {"CANCELLED", `,"state":"cancelled"`, outcome.Cancelled}, {"REFUNDED", `,"state":"refunded"`, outcome.Refunded},
		{"BLOCKED", `,"state":"blocked"`, outcome.Blocked}, {"EARLY", `,"valid_from":"2026-11-22T20:00:00Z"`, outcome.NotYetValid},
		{"LATE", `,"valid_until":"2026-11-22T18:00:00Z"`, outcome.NoLongerValid}, {"NONE", "", outcome.UnknownCode}, {"NONE", "", outcome.UnknownCode}, {"OTHER", "", outcome.WrongEvent},
	} {
		codes, want = append(codes, is.code), append(want, is.code+" "+string(is.verdict))
		if is.more != "" {
			newTicket(t, s, event, is.code, is.more+`,"holder_name":"Ana Souza"`)
		}
	}
	p := kvtest.Login(t, s, fmt.Sprintf("event:%d,%d", event, other), "checkin:*")
	judged := handedIn(t, s, p, event, codes...)
	again := handedIn(t, s, p, event, codes...)
	for i, j := range judged {
		if got := codes[i] + " " + string(j.Outcome); got != want[i] || j.Err != nil || j.CheckinID == "" || j.Double != j.CheckinID || j.Replayed {
			t.Errorf("%s is judged %+v", want[i], j)
		}
		if k := again[i]; !k.Replayed || k.CheckinID != j.CheckinID || k.Outcome != j.Outcome {
			t.Errorf("%s handed in again is judged %+v", want[i], k)
		}
	}
	stands := func(letIn, admitted int) {
		t.Helper()
		st, err := s.Door.Status(p, event)
		if err != nil || st.LetIn != letIn || st.Admitted != admitted || st.Inside != letIn+admitted || st.Doubles != letIn {
			t.Errorf("the status = %+v, %v, want %d let in and %d admitted", st, err, letIn, admitted)
		}
		if got := kvtest.Metric(t, registry, "doorward_let_in"); got != float64(letIn) {
			t.Errorf("doorward_let_in = %v, want %d", got, letIn)
		}
		healthy(t, s)
	}
	stands(9, 0)
	page, err := s.Door.DoubleEntries(auth.Operator(), event, desk.Part{Limit: 20})
	if err != nil || page.Count != 9 {
		t.Fatalf("double entries = %+v, %v", page, err)
	}
	for i, e := range page.Items {
		named := e.Label == "Ana S." && e.Holder == "Ana Souza" && e.Ticket != 0
		if codes[i]+" "+string(e.Reason) != want[i] || e.Basis != "offline" || e.Door != "North" || !e.At.Equal(sunday) || e.Key != p.Key() || named != (i < 6) {
			t.Errorf("%s is listed as %+v", want[i], e)
		}
	}
	if n := pageOf(t, s, record.Scan).Count; n != 0 {
		t.Errorf("%d refusals are written besides", n)
	}

	clock.Move(time.Minute)
	scanned(t, s, p, door.Attempt{Event: event, Code: "UNPAID"}, outcome.Unpaid) // a refusal of its own
	patched(t, s, record.Ticket, page.Items[0].Ticket, `{"state":"valid"}`)
	if d := scanned(t, s, p, door.Attempt{Event: event, Code: "UNPAID"}, outcome.AlreadyAdmitted); d.CheckinID != judged[0].CheckinID {
		t.Errorf("paid since, the guest is in by %s, want %s", d.CheckinID, judged[0].CheckinID)
	}
	newTicket(t, s, event, "NONE", "")
	scanned(t, s, p, door.Attempt{Event: event, Code: "NONE"}, outcome.AlreadyAdmitted)
	scanned(t, s, p, door.Attempt{Event: event, Code: "GOOD"}, outcome.Admitted)
	stands(9, 1)
	for _, j := range judged[5:7] {
		undone(t, s, p, event, j.CheckinID)
	}
	stands(7, 1)
	closed(t, s)
	s = reopenable(t, c)
	stands(7, 1)
	closed(t, s)
}

// TestTwoHundredGuestsInOneBatchStayCounted: the limits of refusals are not theirs.
func TestTwoHundredGuestsInOneBatchStayCounted(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, "")
	var codes []string
	for i := range 200 {
		codes = append(codes, fmt.Sprint("NONE-", i/2))
	}
	p := gate(t, s, event)
	handedIn(t, s, p, event, codes...)
	if st, err := s.Door.Status(p, event); err != nil || st.Inside != 200 || st.LetIn != 200 || st.Outcomes[outcome.UnknownCode] != 200 || st.GuestsToday != 200 {
		t.Errorf("the status = %+v, %v", st, err)
	}
}

// TestAGuestWhomThePhoneLetInLeaves at a door that leads out, and a code that no ticket has lets none out.
func TestAGuestWhomThePhoneLetInLeaves(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, `,"list_rule":"reentry"`)
	newTicket(t, s, event, "K1", `,"state":"unpaid"`)
	p := gate(t, s, event)
	handedIn(t, s, p, event, "K1")
	inside := func(want int) {
		t.Helper()
		if st, err := s.Door.Status(p, event); err != nil || st.Inside != want || st.LetIn != 1 {
			t.Errorf("the status = %+v, %v, want %d inside", st, err, want)
		}
	}
	inside(1)
	clock.Move(time.Minute)
	scanned(t, s, p, door.Attempt{Event: event, Code: "K1", Way: door.Out}, outcome.Left)
	inside(0)
	clock.Move(time.Minute)
	d := scanned(t, s, p, door.Attempt{Event: event, Code: "K1", Way: door.Out}, outcome.NotInside)
	if !d.OutSince.Equal(sunday.Add(time.Minute)) {
		t.Errorf("out since %v, want a minute ago", d.OutSince)
	}
	judged, err := s.Door.CheckInAll(p, []door.Attempt{{Event: event, Code: "NONE", Way: door.Out, LetIn: true, At: sunday}})
	if err != nil || judged[0].Outcome != outcome.UnknownCode || judged[0].Double != "" {
		t.Errorf("an unknown guest who was let out = %+v, %v", judged, err)
	}
	inside(0)
	healthy(t, s)
}

// TestGuestsOfARevokedKeysPhoneWaitForStaff: at most so many, and each counts once it is accepted.
func TestGuestsOfARevokedKeysPhoneWaitForStaff(t *testing.T) {
	s, _ := opened(t)
	s.Tables.Rules.Limits.LetIn.Number = 3
	event := newEvent(t, s, "")
	newTicket(t, s, event, "K1", `,"state":"unpaid"`)
	k, _, err := s.Keys.AddKey(auth.Operator(), keys.KeySpec{Name: "Bia", Level: auth.Level{Name: auth.EventOf, IDs: []int64{event}}, Permissions: []auth.Permission{{Resource: "checkin", Method: "*"}}})
	if err == nil {
		err = s.Keys.RevokeKey(auth.Operator(), k.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Keys.RevokedDoor(k.Key, event)
	if err != nil {
		t.Fatal(err)
	}
	judged := handedIn(t, s, p, event, "K1", "NONE", "NONE", "NONE")
	var forbidden *auth.Forbidden
	if judged[0].Outcome != outcome.Unpaid || judged[2].Outcome != outcome.UnknownCode || !errors.As(judged[3].Err, &forbidden) {
		t.Errorf("they are judged %+v", judged)
	}
	counted := func(want int) {
		t.Helper()
		st, err := s.Door.Status(auth.Operator(), event)
		if err != nil || st.LetIn != want || st.Inside != want || st.Doubles != want {
			t.Errorf("the status = %+v, %v, want %d let in", st, err, want)
		}
		healthy(t, s)
	}
	counted(0)
	scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "K1"}, outcome.Unpaid)
	id, _ := record.Checkin.ParseID(judged[0].CheckinID)
	counts, err := s.Door.Accept(auth.Operator(), id)
	again, err2 := s.Door.Accept(auth.Operator(), id)
	if err != nil || err2 != nil || again != counts || counts == judged[0].CheckinID {
		t.Errorf("accepted as %s, %v, and again as %s, %v", counts, err, again, err2)
	}
	counted(1)
	reviews, err := s.Door.Reviews(auth.Operator(), desk.Part{Limit: 9})
	if err != nil || reviews.Count != 3 {
		t.Errorf("Reviews = %+v, %v", reviews, err)
	}
	for _, r := range reviews.Items {
		if its := r.ID == id; its != (r.Verdict == outcome.Unpaid) || its != (r.Counts == counts) {
			t.Errorf("a review is %+v", r)
		}
	}
	page, err := s.Door.DoubleEntries(auth.Operator(), event, desk.Part{Limit: 9})
	if err != nil || page.Count != 1 || page.Items[0].CheckinID != counts || !page.Items[0].At.Equal(sunday) || page.Items[0].Door != "North" {
		t.Errorf("double entries = %+v, %v", page, err)
	}
	undone(t, s, auth.Operator(), event, counts)
	counted(0)
	if counts, err := s.Door.Accept(auth.Operator(), id); err != nil || counts == again {
		t.Errorf("accepted after the undo as %s, %v", counts, err)
	}
	counted(1)
	var conflict *table.Conflict
	accepted, _ := record.Checkin.ParseID(counts)
	if _, err := s.Door.Accept(auth.Operator(), accepted); !errors.As(err, &conflict) {
		t.Errorf("a check-in that counts is accepted: %v", err)
	}
	if _, err := s.Door.Accept(kvtest.Login(t, s, fmt.Sprintf("event:%d", newEvent(t, s, "")), "admin:*"), id); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("a key of another event accepts it: %v", err)
	}
}

// TestTodaysGuestsAndEntriesAreCountedApart at an event of several days, and at one that guests leave and come back to.
func TestTodaysGuestsAndEntriesAreCountedApart(t *testing.T) {
	type counts struct{ Admitted, Inside, Guests, Entries int }
	s, clock := opened(t)
	for _, rule := range []string{"daily", "reentry", "once"} {
		event := newEvent(t, s, fmt.Sprintf(`,"list_rule":%q`, rule))
		newTicket(t, s, event, "K1", "")
		p := gate(t, s, event)
		is := func(want counts) {
			t.Helper()
			st, err := s.Door.Status(p, event)
			if diff := cmp.Diff(want, counts{st.Admitted, st.Inside, st.GuestsToday, st.EntriesToday}); err != nil || diff != "" {
				t.Errorf("%s: %v %s", rule, err, diff)
			}
		}
		scan := func(way door.Way, want outcome.Outcome) {
			t.Helper()
			clock.Move(time.Minute)
			scanned(t, s, p, door.Attempt{Event: event, Code: "K1", Way: way}, want)
		}
		scan(door.In, outcome.Admitted)
		is(counts{1, 1, 1, 1})
		switch rule {
		case "daily":
			clock.Move(8 * time.Hour) // 03:00 in the night
			is(counts{1, 1, 1, 1})
			clock.Move(2 * time.Hour)
			is(counts{1, 0, 0, 0})
			scan(door.In, outcome.Admitted)
			is(counts{2, 1, 1, 1})
		case "reentry":
			scan(door.Out, outcome.Left)
			is(counts{1, 0, 1, 1})
			scan(door.In, outcome.Admitted)
			is(counts{2, 1, 1, 2})
			clock.Move(24 * time.Hour)
			is(counts{2, 1, 0, 0}) // who stays overnight is inside
		case "once":
			clock.Move(24 * time.Hour)
			is(counts{1, 1, 0, 0})
		}
	}
	healthy(t, s)
}

// TestAClosedDoorOpensWithItsNextScan: a supervisor closes it, over a restart too.
func TestAClosedDoorOpensWithItsNextScan(t *testing.T) {
	c := table.Config{Dir: folder(t), Clock: kvtest.NewClock(sunday).Now}
	clock := kvtest.NewClock(sunday)
	c.Clock = clock.Now
	s := reopenable(t, c)
	event, other := newEvent(t, s, ""), newEvent(t, s, "")
	newTicket(t, s, event, "K1", "")
	p := gate(t, s, event)
	steward := kvtest.Login(t, s, fmt.Sprintf("event:%d", event), "checkin:GET", "checkin:POST")
	scanned(t, s, p, door.Attempt{Event: event, Code: "K1", Door: "North"}, outcome.Admitted)
	is := func(want map[string]time.Time) {
		t.Helper()
		if st, err := s.Door.Status(p, event); err != nil || !cmp.Equal(want, st.Closed) {
			t.Errorf("closed are %v, %v, want %v", st.Closed, err, want)
		}
	}
	is(map[string]time.Time{})
	clock.Move(time.Minute)
	var forbidden *auth.Forbidden
	if _, err := s.Door.CloseDoor(steward, event, "North", true); !errors.As(err, &forbidden) {
		t.Errorf("a steward closes a door: %v", err)
	}
	for _, try := range []struct {
		event int64
		name  string
	}{{event, "South"}, {other, "North"}} {
		if _, err := s.Door.CloseDoor(p, try.event, try.name, false); !errors.Is(err, table.ErrNotFound) {
			t.Errorf("door %s of event %d closes: %v", try.name, try.event, err)
		}
	}
	at := sunday.Add(time.Minute)
	for name, open := range map[string]bool{"North": false, "South": true} {
		if got, err := s.Door.CloseDoor(p, event, name, open); err != nil || !got.Equal(at) {
			t.Errorf("%s closes at %v, %v, want %v", name, got, err, at)
		}
	}
	is(map[string]time.Time{"North": at, "South": at})
	healthy(t, s)
	closed(t, s)
	s = reopenable(t, c)
	is(map[string]time.Time{"North": at, "South": at})
	clock.Move(time.Minute)
	scanned(t, s, p, door.Attempt{Event: event, Code: "K1", Door: "North"}, outcome.AlreadyAdmitted)
	is(map[string]time.Time{"South": at})
	healthy(t, s)
	closed(t, s)
}
