package kv_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/fault"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
)

// ways are the doors of an event: attempts at them with one code.
func ways(event int64, code string) (in, out, again door.Attempt) {
	a := door.Attempt{Event: event, Code: code, Door: "north"}
	in, out, again = a, a, a
	in.Way, out.Way, again.Way = door.In, door.Out, door.Reentry
	out.Door = "exit"
	return in, out, again
}

func TestGuestsGoOutAndComeBack(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, `,"list_rule":"reentry"`)
	newTicket(t, s, event, "K1", `,"type":"Adult"`)
	newTicket(t, s, event, "K2", `,"type":"Adult"`)
	p := gate(t, s, event)
	in, out, again := ways(event, "K1")
	scanned(t, s, p, out, outcome.NotInside)
	scanned(t, s, p, again, outcome.NotInside)
	first := scanned(t, s, p, in, outcome.Admitted)
	scanned(t, s, p, in, outcome.AlreadyAdmitted)
	scanned(t, s, p, again, outcome.AlreadyAdmitted)
	clock.Move(time.Minute)
	left := scanned(t, s, p, out, outcome.Left)
	if left.CheckinID == first.CheckinID || left.SecondsAgo != 60 || left.Door != "north" || left.Type != "Adult" {
		t.Errorf("the way out: %+v", left)
	}
	scanned(t, s, p, out, outcome.NotInside)
	second := scanned(t, s, p, again, outcome.Admitted)
	if d := scanned(t, s, p, door.Attempt{Event: event, Code: "K1"}, outcome.AlreadyAdmitted); d.CheckinID != second.CheckinID {
		t.Errorf("already in by %s, want the last way in %s", d.CheckinID, second.CheckinID)
	}
	scanned(t, s, p, door.Attempt{Event: event, Code: "K2"}, outcome.Admitted) // a scan that says no way leads in
	st, err := s.Door.Status(p, event)
	if err != nil || st.Admitted != 3 || st.Inside != 2 || st.Doubles != 0 || st.Outcomes[outcome.Left] != 1 || st.Outcomes[outcome.NotInside] == 0 {
		t.Errorf("Status = %+v, %v", st, err)
	}
	for _, id := range []string{second.CheckinID, left.CheckinID} { // as if neither had been
		if _, err := s.Door.Undo(p, door.Undoing{Event: event, CheckinID: id}); err != nil {
			t.Fatal(err)
		}
	}
	if d := scanned(t, s, p, in, outcome.AlreadyAdmitted); d.CheckinID != first.CheckinID {
		t.Errorf("after the undoes in by %s, want %s", d.CheckinID, first.CheckinID)
	}
	if st, err := s.Door.Status(p, event); err != nil || st.Inside != 2 {
		t.Errorf("Status = %+v, %v", st, err)
	}
	newTicket(t, s, event, "K3", "")
	_, _, letIn := ways(event, "K3") // the guest is inside already, whatever this store knows of the way in
	letIn.LetIn = true
	scanned(t, s, p, letIn, outcome.Admitted)
	sound(t, s)
}

// sound wants a store to be whole.
func sound(t *testing.T, s *kv.Store) {
	t.Helper()
	if r, err := s.Files.Verify(auth.Operator(), nil); err != nil || r.Damaged != 0 {
		t.Errorf("Verify = %+v, %v", r, err)
	}
}

// stampOf2035 is that of a laptop whose clock is years ahead.
var stampOf2035 = int(time.Date(2035, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() << 16)

// TestAWayOutOfTheFutureLetsInOnce: whoever went out at a laptop of the year 2035 is let in again once, also where two doors read the
// code at once. Check-ins of other tickets keep the time of this store.
func TestAWayOutOfTheFutureLetsInOnce(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, `,"list_rule":"reentry"`)
	p := gate(t, s, event)
	for i, code := range []string{"K1", "K2"} {
		ticket := newTicket(t, s, event, code, "")
		scanned(t, s, p, door.Attempt{Event: event, Code: code}, outcome.Admitted)
		f := drawnFact{kind: record.Checkin, id: drawnID(uint64(i + 1)), ticket: int(ticket), code: 1, direction: "out", hlc: stampOf2035}
		f.put(t, s, event)
		clock.Move(time.Minute)
	}
	scanned(t, s, p, door.Attempt{Event: event, Code: "K1"}, outcome.Admitted)
	for range 2 {
		clock.Move(time.Minute)
		scanned(t, s, p, door.Attempt{Event: event, Code: "K1"}, outcome.AlreadyAdmitted)
	}
	both, err := s.Door.CheckInAll(p, []door.Attempt{{Event: event, Code: "K2"}, {Event: event, Code: "K2"}})
	if err != nil || both[0].Outcome != outcome.Admitted || both[1].Outcome != outcome.AlreadyAdmitted {
		t.Errorf("two scans of one commit = %+v, %v, want one admission", both, err)
	}
	newTicket(t, s, event, "K3", "")
	d := scanned(t, s, p, door.Attempt{Event: event, Code: "K3"}, outcome.Admitted)
	if hlc := stampOf(t, s, d.CheckinID); hlc>>16 != uint64(clock.Now().UnixMilli()) {
		t.Errorf("the stamp of another ticket's check-in is %x, want it to be of %v", hlc, clock.Now())
	}
	sound(t, s)
}

// lastStamp is all ones: no stamp comes after it.
const lastStamp = -1

// TestAWayOutThatNothingComesAfterDoesNotCount: it would let the guest in without end, for no check-in in has a later stamp.
func TestAWayOutThatNothingComesAfterDoesNotCount(t *testing.T) {
	for name, hlcs := range map[string][]int{"the last stamp": {lastStamp}, "the two before it": {lastStamp - 2, lastStamp - 1}, "both": {lastStamp - 1, lastStamp}} {
		s, clock := opened(t)
		event := newEvent(t, s, `,"list_rule":"reentry"`)
		p := gate(t, s, event)
		ticket := newTicket(t, s, event, "K1", "")
		in, out, _ := ways(event, "K1")
		scanned(t, s, p, in, outcome.Admitted)
		for i, hlc := range hlcs {
			f := drawnFact{kind: record.Checkin, id: drawnID(uint64(i + 1)), ticket: int(ticket), code: 1, direction: "out", hlc: hlc}
			f.put(t, s, event)
		}
		admitted := 0
		for range 4 {
			clock.Move(time.Minute)
			d, err := s.Door.CheckIn(p, in)
			if err != nil {
				t.Fatal(err)
			}
			if d.Outcome == outcome.Admitted {
				admitted++
			}
		}
		if admitted > len(hlcs) || hlcs[0] == lastStamp && admitted > 0 {
			t.Errorf("%s: %d of four scans are admitted", name, admitted)
		}
		if d, err := s.Door.CheckIn(p, out); err != nil || d.Outcome != outcome.Left {
			t.Errorf("%s: a way out: %+v, %v", name, d, err)
		}
		sound(t, s)
	}
}

// TestAWayInBeforeTheLastStampEndsByAWayOut: the way out takes no stamp with which it would not count.
func TestAWayInBeforeTheLastStampEndsByAWayOut(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, `,"list_rule":"reentry"`)
	p := gate(t, s, event)
	f := drawnFact{kind: record.Checkin, id: drawnID(1), ticket: int(newTicket(t, s, event, "K1", "")), code: 1, direction: "in", hlc: lastStamp - 1}
	f.put(t, s, event)
	in, out, _ := ways(event, "K1")
	scanned(t, s, p, in, outcome.AlreadyAdmitted)
	scanned(t, s, p, out, outcome.Left)
	scanned(t, s, p, in, outcome.Admitted)
	scanned(t, s, p, in, outcome.AlreadyAdmitted)
	sound(t, s)
}

// TestAWayOutAdmitsNobodyWhereDoorsLeadIn: neither one that comes from elsewhere, nor one of the time when the event let its guests out.
func TestAWayOutAdmitsNobodyWhereDoorsLeadIn(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, `,"list_rule":"reentry"`)
	p := gate(t, s, event)
	newTicket(t, s, event, "K1", `,"holder_name":"Ana Souza"`)
	in, out, _ := ways(event, "K1")
	first := scanned(t, s, p, in, outcome.Admitted)
	clock.Move(time.Minute)
	scanned(t, s, p, out, outcome.Left)
	patched(t, s, record.Event, event, `{"list_rule":"once"}`)
	if d := scanned(t, s, p, in, outcome.AlreadyAdmitted); d.CheckinID != first.CheckinID {
		t.Errorf("already admitted by %s, want %s", d.CheckinID, first.CheckinID)
	}
	if hits := found(t, s, p, event, "ana"); len(hits) != 1 || hits[0].CheckinID != first.CheckinID {
		t.Errorf("a search shows %+v, want the guest admitted by %s", hits, first.CheckinID)
	}
	patched(t, s, record.Event, event, `{"list_rule":"reentry"}`)
	scanned(t, s, p, in, outcome.Admitted)
	patched(t, s, record.Event, event, `{"list_rule":"once"}`)

	for i, hlc := range []int{stampOf2035, lastStamp} {
		code := fmt.Sprint("E", i)
		ticket := newTicket(t, s, event, code, "")
		f := drawnFact{kind: record.Checkin, id: drawnID(uint64(i + 1)), ticket: int(ticket), code: 2 + i, direction: "out", hlc: hlc}
		f.put(t, s, event)
		scanned(t, s, p, door.Attempt{Event: event, Code: code}, outcome.Admitted)
		for range 2 {
			clock.Move(time.Minute)
			scanned(t, s, p, door.Attempt{Event: event, Code: code}, outcome.AlreadyAdmitted)
		}
	}
	sound(t, s)
}

// stampOf is the hybrid time of a check-in.
func stampOf(t *testing.T, s *kv.Store, checkin string) (hlc uint64) {
	t.Helper()
	id, _ := record.Checkin.ParseID(checkin) // it is one
	err := s.Tables.View(func(v *table.View) error {
		st, err := v.Load(record.Checkin, id)
		if err != nil || st == nil {
			return table.OrNotFound(err)
		}
		hlc = admission.Of(st).Hlc
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return hlc
}

// TestAWayInOfTheFutureEndsByAWayOut: whoever came in at a laptop of the year 2035 goes out and comes back as others do.
func TestAWayInOfTheFutureEndsByAWayOut(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, `,"list_rule":"reentry"`)
	p := gate(t, s, event)
	cameIn2035(t, s, event)
	in, out, _ := ways(event, "K1")
	for range 2 {
		clock.Move(time.Minute)
		scanned(t, s, p, out, outcome.Left)
		scanned(t, s, p, out, outcome.NotInside)
		clock.Move(time.Minute)
		scanned(t, s, p, in, outcome.Admitted)
		scanned(t, s, p, in, outcome.AlreadyAdmitted)
	}
	sound(t, s)
}

// TestAGuestThatIsLetInAfterTheFutureIsTheDoubleEntry: not the check-in of a laptop of the year 2035, which was there before.
func TestAGuestThatIsLetInAfterTheFutureIsTheDoubleEntry(t *testing.T) {
	for _, rule := range []string{"reentry", "once"} {
		s, _ := opened(t)
		event := newEvent(t, s, fmt.Sprintf(`,"list_rule":%q`, rule))
		p := gate(t, s, event)
		first := cameIn2035(t, s, event)
		again := scanned(t, s, p, door.Attempt{Event: event, Code: "K1", LetIn: true}, outcome.AlreadyAdmitted)
		page, err := s.Door.DoubleEntries(p, event, desk.Part{Limit: 10})
		if want := []string{again.Double + " already_admitted after " + first}; err != nil || !slices.Equal(doubleLines(page), want) {
			t.Errorf("%s: double entries = %v, %v, want %v", rule, doubleLines(page), err, want)
		}
		sound(t, s)
	}
}

// cameIn2035 stores the way in of a ticket with the code K1 at a laptop of the year 2035, and answers the check-in.
func cameIn2035(t *testing.T, s *kv.Store, event int64) string {
	t.Helper()
	ticket := newTicket(t, s, event, "K1", "")
	f := drawnFact{kind: record.Checkin, id: drawnID(1), ticket: int(ticket), code: 1, direction: "in", hlc: stampOf2035}
	f.put(t, s, event)
	return record.Checkin.FormatID(f.id)
}

func TestAWayOutIsAnsweredOnceForItsNonce(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, `,"list_rule":"reentry"`)
	newTicket(t, s, event, "K1", "")
	p := gate(t, s, event)
	in, out, _ := ways(event, "K1")
	in.Nonce, out.Nonce = "in", "out"
	came := scanned(t, s, p, in, outcome.Admitted)
	first := scanned(t, s, p, out, outcome.Left)
	if again := scanned(t, s, p, out, outcome.Left); !again.Replayed || again.CheckinID != first.CheckinID {
		t.Errorf("again: %+v", again)
	}
	if _, err := s.Door.Undo(p, door.Undoing{Event: event, CheckinID: came.CheckinID}); err != nil {
		t.Fatal(err)
	}
	if again := scanned(t, s, p, out, outcome.Left); !again.Replayed || again.CheckinID != first.CheckinID {
		t.Errorf("again after the way in was taken back: %+v", again)
	}
	in.Nonce = "out"
	if _, err := s.Door.CheckIn(p, in); !errors.Is(err, table.ErrKeyReused) {
		t.Errorf("in under the nonce of out: %v", err)
	}
}

func TestNobodyIsKeptInside(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, `,"list_rule":"reentry"`)
	ticket := newTicket(t, s, event, "K1", "")
	p := gate(t, s, event)
	in, out, _ := ways(event, "K1")
	scanned(t, s, p, in, outcome.Admitted)
	patched(t, s, record.Ticket, ticket, `{"state":"blocked"}`)
	scanned(t, s, p, out, outcome.Left)
	scanned(t, s, p, in, outcome.Blocked)
}

func TestDoorsOfOtherEventsLeadIn(t *testing.T) {
	s, _ := opened(t)
	for _, rule := range []string{"once", "daily"} {
		event := newEvent(t, s, fmt.Sprintf(`,"list_rule":%q`, rule))
		newTicket(t, s, event, "K1", "")
		p := gate(t, s, event)
		in, out, again := ways(event, "K1")
		for _, a := range []door.Attempt{out, again} {
			var faults fault.ByField
			if d, err := s.Door.CheckIn(p, a); !errors.As(err, &faults) || faults["direction"] == nil {
				t.Errorf("%s at a door %s: %+v, %v", rule, a.Way, d, err)
			}
		}
		scanned(t, s, p, in, outcome.Admitted)
	}
}

func TestADoorSaysANotice(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, `,"notices":{" CRIANÇA ":"ask for the guardian's slip","VIP":null,"Press":3}`)
	p := gate(t, s, event)
	for sort, want := range map[string]string{"Criança": "ask for the guardian's slip", "crianca": "ask for the guardian's slip", "Adult": "", "VIP": "", "Press": "3", "": ""} {
		more := ""
		if sort != "" {
			more = fmt.Sprintf(`,"type":%q`, sort)
		}
		newTicket(t, s, event, "K-"+sort, more)
		if d := scanned(t, s, p, door.Attempt{Event: event, Code: "K-" + sort}, outcome.Admitted); d.Notice != want {
			t.Errorf("%q: %q, want %q", sort, d.Notice, want)
		}
	}
}

func TestAnOrderIsOneFamily(t *testing.T) {
	s, _ := opened(t)
	event, other := newEvent(t, s, `,"notices":{"Child":"slip"}`), newEvent(t, s, "")
	a := newTicket(t, s, event, "A", `,"order":"O1","holder_name":"Ana Souza"`)
	b := newTicket(t, s, event, "B", `,"order":"O1","holder_name":"Bia Souza","type":"Child"`)
	c := newTicket(t, s, event, "C", `,"order":"O1"`)
	newTicket(t, s, event, "D", `,"order":"O10"`)
	newTicket(t, s, event, "E", `,"order":""`)
	newTicket(t, s, event, "G", `,"order":""`)
	newTicket(t, s, other, "F", `,"order":"O1"`)
	p := gate(t, s, event)
	scanned(t, s, p, door.Attempt{Event: event, Ticket: b}, outcome.Admitted)
	in := scanned(t, s, p, door.Attempt{Event: event, Ticket: a}, outcome.Admitted)
	hits, err := s.Door.Family(p, event, in.CheckinID)
	if err != nil || len(hits) != 2 || hits[0].Ticket.Int() != c || hits[1].Ticket.Int() != b || hits[1].Label != "Bia S." || hits[1].AdmittedAt.IsZero() || hits[1].Notice != "slip" {
		t.Errorf("Family = %+v, %v", hits, err)
	}
	alone := scanned(t, s, p, door.Attempt{Event: event, Code: "E"}, outcome.Admitted)
	if hits, err := s.Door.Family(p, event, alone.CheckinID); err != nil || len(hits) != 0 {
		t.Errorf("Family of none = %+v, %v", hits, err)
	}
	for _, id := range []string{"", "O1", record.Checkin.FormatID(record.ID{})} {
		if _, err := s.Door.Family(p, event, id); !errors.Is(err, table.ErrNotFound) {
			t.Errorf("Family(%q): %v", id, err)
		}
	}
	if _, err := s.Door.Family(gate(t, s, other), other, in.CheckinID); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("of another event: %v", err)
	}
}

// TestALargeOrderIsShownWhole: a coach of guests has one order.
func TestALargeOrderIsShownWhole(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, "")
	first := newTicket(t, s, event, "BUS-0", `,"order":"BUS"`)
	for i := range 250 {
		newTicket(t, s, event, fmt.Sprintf("BUS-%d", i+1), `,"order":"BUS"`)
	}
	p := gate(t, s, event)
	in := scanned(t, s, p, door.Attempt{Event: event, Ticket: first}, outcome.Admitted)
	if hits, err := s.Door.Family(p, event, in.CheckinID); err != nil || len(hits) != 250 {
		t.Errorf("Family = %d tickets, %v, want 250", len(hits), err)
	}
}

func TestAStewardTakesBackTheOwnCheckInsOfAMinute(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, "")
	newTicket(t, s, event, "K1", "")
	level := fmt.Sprintf("event:%d", event)
	bia, caio, boss := kvtest.Login(t, s, level, "checkin:GET", "checkin:POST"), kvtest.Login(t, s, level, "checkin:GET", "checkin:POST"), kvtest.Login(t, s, level, "checkin:*")
	in := scanned(t, s, bia, door.Attempt{Event: event, Code: "K1"}, outcome.Admitted)
	take := func(p auth.Principal) error {
		_, err := s.Door.Undo(p, door.Undoing{Event: event, CheckinID: in.CheckinID})
		return err
	}
	var f *auth.Forbidden
	if err := take(caio); !errors.As(err, &f) || f.RequiredScope != "checkin:DELETE" {
		t.Errorf("another steward: %v", err)
	}
	clock.Move(time.Minute)
	if err := take(bia); err != nil {
		t.Errorf("within the minute: %v", err)
	}
	in = scanned(t, s, bia, door.Attempt{Event: event, Code: "K1"}, outcome.Admitted)
	clock.Move(time.Minute + time.Second)
	if err := take(bia); !errors.As(err, &f) {
		t.Errorf("after it: %v", err)
	}
	if err := take(boss); err != nil {
		t.Errorf("a supervisor: %v", err)
	}
}

// TestTheMinuteOfAStewardIsNotTheScanners: a scanner that says a time to come, and a clock that is put back, leave a steward no more than the
// minute.
func TestTheMinuteOfAStewardIsNotTheScanners(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, "")
	bia := kvtest.Login(t, s, fmt.Sprintf("event:%d", event), "checkin:GET", "checkin:POST")
	for i, step := range []struct {
		ahead, move time.Duration
		taken       bool
	}{
		{time.Hour, 30 * time.Second, true},
		{time.Hour, 2 * time.Minute, false},
		{time.Hour, time.Hour, false},
		{-2 * time.Minute, 0, false},
		{0, -30 * time.Second, true},
		{0, -2 * time.Hour, false},
	} {
		code := fmt.Sprintf("K%d", i)
		newTicket(t, s, event, code, "")
		got, err := s.Door.CheckInAll(bia, []door.Attempt{{Event: event, Code: code, At: clock.Now().Add(step.ahead)}})
		if err != nil || got[0].Outcome != outcome.Admitted {
			t.Fatalf("step %d = %+v, %v, want an admission", i, got, err)
		}
		clock.Move(step.move)
		var f *auth.Forbidden
		_, err = s.Door.Undo(bia, door.Undoing{Event: event, CheckinID: got[0].CheckinID})
		if step.taken && err != nil || !step.taken && !errors.As(err, &f) {
			t.Errorf("step %d: undo = %v, want it taken back: %v", i, err, step.taken)
		}
	}
}

func TestARevokedPhoneHandsInOnce(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, "")
	for _, code := range []string{"K1", "K2"} {
		newTicket(t, s, event, code, `,"holder_name":"Ana Souza"`)
	}
	k, secret, err := s.Keys.AddKey(auth.Operator(), keys.KeySpec{Name: "Bia", Level: auth.Level{Name: auth.EventOf, IDs: []int64{event}}, Permissions: []auth.Permission{{Resource: "checkin", Method: "*"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Keys.RevokedDoor(k.Key, event); !errors.Is(err, table.ErrRevoked) {
		t.Errorf("a key that is good: %v", err)
	}
	if err := s.Keys.RevokeKey(auth.Operator(), k.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Keys.Login(k.Key, secret); !errors.Is(err, table.ErrRevoked) {
		t.Fatal(err)
	}
	p, err := s.Keys.RevokedDoor(k.Key, event)
	if err != nil {
		t.Fatal(err)
	}
	judged, err := s.Door.CheckInAll(p, []door.Attempt{{Event: event, Code: "K1", LetIn: true}, {Event: event, Code: "K2"}})
	if err != nil || judged[0].Outcome != outcome.Admitted || judged[0].Label != "" || !errors.Is(judged[1].Err, table.ErrRevoked) {
		t.Errorf("CheckInAll = %+v, %v", judged, err)
	}
	reviews, err := s.Door.Reviews(auth.Operator(), desk.Part{Limit: 9})
	if err != nil || reviews.Count != 1 {
		t.Errorf("Reviews = %+v, %v", reviews, err)
	}
	for name, read := range map[string]func() error{
		"status": func() error { _, err := s.Door.Status(p, event); return err },
		"search": func() error { _, err := s.Door.FindTickets(p, event, nil, nil); return err },
		"family": func() error { _, err := s.Door.Family(p, event, judged[0].CheckinID); return err },
		"undo": func() error {
			_, err := s.Door.Undo(p, door.Undoing{Event: event, CheckinID: judged[0].CheckinID})
			return err
		},
	} {
		if read() == nil {
			t.Errorf("a revoked phone may %s", name)
		}
	}
	clock.Move(9 * time.Minute)
	if _, err := s.Keys.RevokedDoor(k.Key, event); err != nil {
		t.Errorf("the answer was lost: %v", err)
	}
	for _, later := range []time.Duration{2 * time.Minute, -22 * time.Minute} { // 11 minutes after the first time, or before it: the clock was put back
		clock.Move(later)
		if _, err := s.Keys.RevokedDoor(k.Key, event); !errors.Is(err, table.ErrRevoked) {
			t.Errorf("a second time: %v", err)
		}
	}
	healthy(t, s)
}
