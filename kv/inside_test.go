package kv_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/fault"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// ways are the doors of an event: attempts at them with one code.
func ways(event int64, code string) (in, out, again kv.Attempt) {
	a := kv.Attempt{Event: event, Code: code, Door: "north"}
	in, out, again = a, a, a
	in.Way, out.Way, again.Way = kv.In, kv.Out, kv.Reentry
	out.Door = "exit"
	return in, out, again
}

func TestGuestsGoOutAndComeBack(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, `,"list_rule":"reentry"`)
	newTicket(t, s, event, "K1", `,"type":"Adult"`)
	newTicket(t, s, event, "K2", `,"type":"Adult"`)
	p := door(t, s, event)
	in, out, again := ways(event, "K1")
	scanned(t, s, p, out, kv.NotInside)
	scanned(t, s, p, again, kv.NotInside)
	first := scanned(t, s, p, in, kv.Admitted)
	scanned(t, s, p, in, kv.AlreadyAdmitted)
	scanned(t, s, p, again, kv.AlreadyAdmitted)
	clock.Move(time.Minute)
	left := scanned(t, s, p, out, kv.Left)
	if left.CheckinID == first.CheckinID || left.SecondsAgo != 60 || left.Door != "north" || left.Type != "Adult" {
		t.Errorf("the way out: %+v", left)
	}
	scanned(t, s, p, out, kv.NotInside)
	second := scanned(t, s, p, again, kv.Admitted)
	if d := scanned(t, s, p, kv.Attempt{Event: event, Code: "K1"}, kv.AlreadyAdmitted); d.CheckinID != second.CheckinID {
		t.Errorf("already in by %s, want the last way in %s", d.CheckinID, second.CheckinID)
	}
	scanned(t, s, p, kv.Attempt{Event: event, Code: "K2"}, kv.Admitted) // a scan that says no way leads in
	st, err := s.Status(p, event)
	if err != nil || st.Admitted != 3 || st.Inside != 2 || st.Doubles != 0 || st.Outcomes[kv.Left] != 1 || st.Outcomes[kv.NotInside] == 0 {
		t.Errorf("Status = %+v, %v", st, err)
	}
	for _, id := range []string{second.CheckinID, left.CheckinID} { // as if neither had been
		if _, err := s.Undo(p, kv.Undoing{Event: event, CheckinID: id}); err != nil {
			t.Fatal(err)
		}
	}
	if d := scanned(t, s, p, in, kv.AlreadyAdmitted); d.CheckinID != first.CheckinID {
		t.Errorf("after the undoes in by %s, want %s", d.CheckinID, first.CheckinID)
	}
	if st, err := s.Status(p, event); err != nil || st.Inside != 2 {
		t.Errorf("Status = %+v, %v", st, err)
	}
	sound(t, s)
}

// sound wants a store to be whole.
func sound(t *testing.T, s *kv.Store) {
	t.Helper()
	if r, err := s.Verify(kv.Operator(), nil); err != nil || r.Damaged != 0 {
		t.Errorf("Verify = %+v, %v", r, err)
	}
}

func TestAWayOutIsAnsweredOnceForItsNonce(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, `,"list_rule":"reentry"`)
	newTicket(t, s, event, "K1", "")
	p := door(t, s, event)
	in, out, _ := ways(event, "K1")
	in.Nonce, out.Nonce = "in", "out"
	scanned(t, s, p, in, kv.Admitted)
	first := scanned(t, s, p, out, kv.Left)
	if again := scanned(t, s, p, out, kv.Left); !again.Replayed || again.CheckinID != first.CheckinID {
		t.Errorf("again: %+v", again)
	}
	in.Nonce = "out"
	if _, err := s.CheckIn(p, in); !errors.Is(err, kv.ErrKeyReused) {
		t.Errorf("in under the nonce of out: %v", err)
	}
}

func TestNobodyIsKeptInside(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, `,"list_rule":"reentry"`)
	ticket := newTicket(t, s, event, "K1", "")
	p := door(t, s, event)
	in, out, _ := ways(event, "K1")
	scanned(t, s, p, in, kv.Admitted)
	patched(t, s, record.Ticket, ticket, `{"state":"blocked"}`)
	scanned(t, s, p, out, kv.Left)
	scanned(t, s, p, in, kv.Blocked)
}

func TestDoorsOfOtherEventsLeadIn(t *testing.T) {
	s, _ := opened(t)
	for _, rule := range []string{"once", "daily"} {
		event := newEvent(t, s, fmt.Sprintf(`,"list_rule":%q`, rule))
		newTicket(t, s, event, "K1", "")
		p := door(t, s, event)
		in, out, again := ways(event, "K1")
		for _, a := range []kv.Attempt{out, again} {
			var faults fault.ByField
			if d, err := s.CheckIn(p, a); !errors.As(err, &faults) || faults["direction"] == nil {
				t.Errorf("%s at a door %s: %+v, %v", rule, a.Way, d, err)
			}
		}
		scanned(t, s, p, in, kv.Admitted)
	}
}

func TestADoorSaysANotice(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, `,"notices":{" CRIANÇA ":"ask for the guardian's slip","VIP":null,"Press":3}`)
	p := door(t, s, event)
	for sort, want := range map[string]string{"Criança": "ask for the guardian's slip", "crianca": "ask for the guardian's slip", "Adult": "", "VIP": "", "Press": "3", "": ""} {
		more := ""
		if sort != "" {
			more = fmt.Sprintf(`,"type":%q`, sort)
		}
		newTicket(t, s, event, "K-"+sort, more)
		if d := scanned(t, s, p, kv.Attempt{Event: event, Code: "K-" + sort}, kv.Admitted); d.Notice != want {
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
	newTicket(t, s, event, "E", "")
	newTicket(t, s, other, "F", `,"order":"O1"`)
	p := door(t, s, event)
	scanned(t, s, p, kv.Attempt{Event: event, Ticket: b}, kv.Admitted)
	in := scanned(t, s, p, kv.Attempt{Event: event, Ticket: a}, kv.Admitted)
	hits, err := s.Family(p, event, in.CheckinID)
	if err != nil || len(hits) != 2 || hits[0].Ticket.Int() != c || hits[1].Ticket.Int() != b || hits[1].Label != "Bia S." || hits[1].AdmittedAt.IsZero() || hits[1].Notice != "slip" {
		t.Errorf("Family = %+v, %v", hits, err)
	}
	alone := scanned(t, s, p, kv.Attempt{Event: event, Code: "E"}, kv.Admitted)
	if hits, err := s.Family(p, event, alone.CheckinID); err != nil || len(hits) != 0 {
		t.Errorf("Family of none = %+v, %v", hits, err)
	}
	for _, id := range []string{"", "O1", record.Checkin.FormatID(record.ID{})} {
		if _, err := s.Family(p, event, id); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("Family(%q): %v", id, err)
		}
	}
	if _, err := s.Family(door(t, s, other), other, in.CheckinID); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("of another event: %v", err)
	}
}

func TestAStewardTakesBackTheOwnCheckInsOfAMinute(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, "")
	newTicket(t, s, event, "K1", "")
	level := fmt.Sprintf("event:%d", event)
	bia, caio, boss := kvtest.Login(t, s, level, "checkin:GET", "checkin:POST"), kvtest.Login(t, s, level, "checkin:GET", "checkin:POST"), kvtest.Login(t, s, level, "checkin:*")
	in := scanned(t, s, bia, kv.Attempt{Event: event, Code: "K1"}, kv.Admitted)
	take := func(p kv.Principal) error {
		_, err := s.Undo(p, kv.Undoing{Event: event, CheckinID: in.CheckinID})
		return err
	}
	var f *kv.Forbidden
	if err := take(caio); !errors.As(err, &f) || f.RequiredScope != "checkin:DELETE" {
		t.Errorf("another steward: %v", err)
	}
	clock.Move(time.Minute)
	if err := take(bia); err != nil {
		t.Errorf("within the minute: %v", err)
	}
	in = scanned(t, s, bia, kv.Attempt{Event: event, Code: "K1"}, kv.Admitted)
	clock.Move(time.Minute + time.Second)
	if err := take(bia); !errors.As(err, &f) {
		t.Errorf("after it: %v", err)
	}
	if err := take(boss); err != nil {
		t.Errorf("a supervisor: %v", err)
	}
}

func TestARevokedPhoneHandsInOnce(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, "")
	for _, code := range []string{"K1", "K2"} {
		newTicket(t, s, event, code, `,"holder_name":"Ana Souza"`)
	}
	k, secret, err := s.AddKey(kv.Operator(), kv.KeySpec{Name: "Bia", Level: kv.Level{Name: kv.EventOf, IDs: []int64{event}}, Permissions: []kv.Permission{{Resource: "checkin", Method: "*"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.RevokedDoor(k.Key); !errors.Is(err, kv.ErrRevoked) {
		t.Errorf("a key that is good: %v", err)
	}
	if err := s.RevokeKey(kv.Operator(), k.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Login(k.Key, secret); !errors.Is(err, kv.ErrRevoked) {
		t.Fatal(err)
	}
	p, err := s.RevokedDoor(k.Key)
	if err != nil {
		t.Fatal(err)
	}
	judged, err := s.CheckInAll(p, []kv.Attempt{{Event: event, Code: "K1", LetIn: true}, {Event: event, Code: "K2"}})
	if err != nil || judged[0].Outcome != kv.Admitted || judged[0].Label != "" || !errors.Is(judged[1].Err, kv.ErrRevoked) {
		t.Errorf("CheckInAll = %+v, %v", judged, err)
	}
	reviews, err := s.Reviews(kv.Operator(), kv.ReviewQuery{Limit: 9})
	if err != nil || reviews.Count != 1 {
		t.Errorf("Reviews = %+v, %v", reviews, err)
	}
	for name, read := range map[string]func() error{
		"status": func() error { _, err := s.Status(p, event); return err },
		"search": func() error { _, err := s.FindTickets(p, event, nil, nil); return err },
		"family": func() error { _, err := s.Family(p, event, judged[0].CheckinID); return err },
		"undo": func() error {
			_, err := s.Undo(p, kv.Undoing{Event: event, CheckinID: judged[0].CheckinID})
			return err
		},
	} {
		if read() == nil {
			t.Errorf("a revoked phone may %s", name)
		}
	}
	clock.Move(9 * time.Minute)
	if _, err := s.RevokedDoor(k.Key); err != nil {
		t.Errorf("the answer was lost: %v", err)
	}
	clock.Move(2 * time.Minute)
	if _, err := s.RevokedDoor(k.Key); !errors.Is(err, kv.ErrRevoked) {
		t.Errorf("a second time: %v", err)
	}
}
