package kv_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
)

func TestNonceAnswersOnce(t *testing.T) {
	c := kv.Config{Dir: folder(t), Clock: kvtest.NewClock(sunday).Now}
	s := reopenable(t, c)
	event, other := newEvent(t, s, ""), newEvent(t, s, "")
	newTicket(t, s, event, "K1", "")
	newTicket(t, s, event, "K2", "")
	newTicket(t, s, other, "K1", "")
	p := kvtest.Login(t, s, fmt.Sprintf("event:%d,%d", event, other), "checkin:*")
	a := door.Attempt{Event: event, Code: "K1", Door: "north", Nonce: "n1"}
	first := scanned(t, s, p, a, outcome.Admitted)
	if first.Replayed {
		t.Errorf("first answer = %+v, want no replay", first)
	}
	same := scanned(t, s, p, door.Attempt{Event: event, Code: "https://x.example/k1", Door: "south", Nonce: "n1"}, outcome.Admitted)
	if !same.Replayed || same.CheckinID != first.CheckinID || !same.AdmittedAt.Equal(first.AdmittedAt) || same.Door != "north" {
		t.Errorf("replay = %+v, want the answer %+v", same, first)
	}
	for _, code := range []string{"K2", "nonsense"} {
		if _, err := s.Door.CheckIn(p, door.Attempt{Event: event, Code: code, Nonce: "n1"}); !errors.Is(err, table.ErrKeyReused) {
			t.Errorf("CheckIn(%s) with a used nonce = %v, want ErrKeyReused", code, err)
		}
	}
	scanned(t, s, p, door.Attempt{Event: event, Code: "K1", Nonce: "n2"}, outcome.AlreadyAdmitted)
	scanned(t, s, p, door.Attempt{Event: event, Code: "K2", Nonce: "n2"}, outcome.Admitted) // a refusal keeps no nonce
	scanned(t, s, p, door.Attempt{Event: other, Code: "K1", Nonce: "n1"}, outcome.Admitted) // another event, another nonce
	scanned(t, s, gate(t, s, event), a, outcome.AlreadyAdmitted)                            // and so is another key's
	patched(t, s, record.Event, event, `{"active":false}`)
	if d := scanned(t, s, p, a, outcome.Admitted); !d.Replayed {
		t.Errorf("replay at a closed event = %+v, want the first answer before anything is judged", d)
	}
	patched(t, s, record.Event, event, `{"active":true}`)
	closed(t, s)
	s = kvtest.OpenConfig(t, c)
	if d := scanned(t, s, p, a, outcome.Admitted); !d.Replayed || d.CheckinID != first.CheckinID {
		t.Errorf("replay after a restart = %+v, want %+v", d, first)
	}
	if n := pageOf(t, s, record.Checkin).Count; n != 3 {
		t.Errorf("%d admissions, want 3", n)
	}
	healthy(t, s)
}

// TestANonceAnswersForACodeThatHasChanged: a phone that lost its answer asks again with the code that it has read. The guest was admitted by
// it, whatever has become of the ticket since.
func TestANonceAnswersForACodeThatHasChanged(t *testing.T) {
	s := kvtest.Open(t)
	event := newEvent(t, s, "")
	ticket := newTicket(t, s, event, "K1", "")
	p := gate(t, s, event)
	a := door.Attempt{Event: event, Code: "K1", Nonce: "n1"}
	first := scanned(t, s, p, a, outcome.Admitted)
	patched(t, s, record.Ticket, ticket, `{"code":"K9"}`)
	if d := scanned(t, s, p, a, outcome.Admitted); !d.Replayed || d.CheckinID != first.CheckinID {
		t.Errorf("the code that was read, again = %+v, want the answer %+v", d, first)
	}
	if _, err := s.Door.CheckIn(p, door.Attempt{Event: event, Code: "K2", Nonce: "n1"}); !errors.Is(err, table.ErrKeyReused) {
		t.Errorf("another code with the nonce = %v, want ErrKeyReused", err)
	}
	scanned(t, s, p, door.Attempt{Event: event, Code: "K1", Nonce: "n2"}, outcome.UnknownCode)
	if n := pageOf(t, s, record.Checkin).Count; n != 1 {
		t.Errorf("%d admissions, want 1", n)
	}
}

func TestUndoneNonceIsJudgedAfresh(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, "")
	ticket := newTicket(t, s, event, "K1", "")
	newTicket(t, s, event, "K2", "")
	p := gate(t, s, event)
	a := door.Attempt{Event: event, Code: "K1", Nonce: "n1"}
	first := scanned(t, s, p, a, outcome.Admitted)
	undone(t, s, p, event, first.CheckinID)
	if _, err := s.Door.CheckIn(p, door.Attempt{Event: event, Code: "K2", Nonce: "n1"}); !errors.Is(err, table.ErrKeyReused) {
		t.Errorf("another code under an undone nonce = %v, want ErrKeyReused", err)
	}
	patched(t, s, record.Ticket, ticket, `{"state":"blocked"}`)
	scanned(t, s, p, a, outcome.Blocked)
	patched(t, s, record.Ticket, ticket, `{"state":"valid"}`)
	second := scanned(t, s, p, a, outcome.Admitted)
	if second.Replayed || second.CheckinID == first.CheckinID {
		t.Errorf("check-in after the undo = %+v, want a new admission", second)
	}
	if d := scanned(t, s, p, a, outcome.Admitted); !d.Replayed || d.CheckinID != second.CheckinID {
		t.Errorf("replay = %+v, want the second admission %s", d, second.CheckinID)
	}
	scanned(t, s, p, door.Attempt{Event: event, Code: "K1"}, outcome.AlreadyAdmitted)
	healthy(t, s)
}

func undone(t testing.TB, s *kv.Store, p auth.Principal, event int64, id string) door.Decision {
	t.Helper()
	d, err := s.Door.Undo(p, door.Undoing{Event: event, CheckinID: id, Door: "north", Reason: "mistake"})
	if err != nil || d.Outcome != outcome.Undone || d.CheckinID != id {
		t.Fatalf("Undo(%s) = %+v, %v", id, d, err)
	}
	return d
}

func TestUndoTakesAnAdmissionBackOnce(t *testing.T) {
	s, _ := opened(t)
	event, other := newEvent(t, s, ""), newEvent(t, s, "")
	newTicket(t, s, event, "K1", "")
	p := gate(t, s, event)
	both := kvtest.Login(t, s, fmt.Sprintf("event:%d,%d", event, other), "checkin:*")
	first := scanned(t, s, p, door.Attempt{Event: event, Code: "K1"}, outcome.Admitted)
	for _, c := range []struct {
		name string
		p    auth.Principal
		u    door.Undoing
		want error
	}{
		{"an event out of scope", p, door.Undoing{Event: other, CheckinID: first.CheckinID}, table.ErrNotFound},
		{"a check-in of another event", both, door.Undoing{Event: other, CheckinID: first.CheckinID}, door.ErrNoCheckin},
		{"no id at all", p, door.Undoing{Event: event, CheckinID: "x"}, door.ErrNoCheckin},
		{"an id that nobody has", p, door.Undoing{Event: event, CheckinID: "01HZX3Q0000000000000000000"}, door.ErrNoCheckin},
		{"without the permission", kvtest.Login(t, s, "denomination", "people:*"), door.Undoing{Event: event, CheckinID: first.CheckinID}, auth.ErrForbidden},
	} {
		if _, err := s.Door.Undo(c.p, c.u); !errors.Is(err, c.want) {
			t.Errorf("Undo of %s = %v, want %v", c.name, err, c.want)
		}
	}
	undone(t, s, p, event, first.CheckinID)
	if _, err := s.Door.Undo(p, door.Undoing{Event: event, CheckinID: first.CheckinID}); !errors.Is(err, door.ErrNoCheckin) {
		t.Errorf("second Undo = %v, want ErrNoCheckin", err)
	}
	second := scanned(t, s, p, door.Attempt{Event: event, Code: "K1"}, outcome.Admitted)
	undone(t, s, p, event, second.CheckinID)
	scanned(t, s, p, door.Attempt{Event: event, Code: "K1"}, outcome.Admitted)
	again := scanned(t, s, p, door.Attempt{Event: event, Code: "K1"}, outcome.AlreadyAdmitted)
	if again.CheckinID == first.CheckinID || again.CheckinID == second.CheckinID {
		t.Errorf("already admitted names an undone check-in: %+v", again)
	}
	if n := pageOf(t, s, record.Undo).Count; n != 2 {
		t.Errorf("%d undos are written, want 2", n)
	}
	healthy(t, s)
}

func TestRefusalsAreWrittenOnceAMinute(t *testing.T) {
	s, clock := opened(t)
	event := newEvent(t, s, "")
	newTicket(t, s, event, "K1", `,"state":"blocked"`)
	p := gate(t, s, event)
	refusals := func(want int, why string) {
		t.Helper()
		if n := pageOf(t, s, record.Scan).Count; n != want {
			t.Errorf("%d refusals are written, want %d: %s", n, want, why)
		}
	}
	refused := func(code, gate string, want outcome.Outcome) {
		t.Helper()
		scanned(t, s, p, door.Attempt{Event: event, Code: code, Door: gate}, want)
	}
	refused("K1", "north", outcome.Blocked)
	refused("K1", "north", outcome.Blocked)
	refused("k-1", "north", outcome.Blocked)
	refusals(1, "equal ones within a minute count once")
	refused("K1", "south", outcome.Blocked)
	refusals(2, "another door")
	refused("x", "north", outcome.UnknownCode)
	refusals(3, "another code")
	patched(t, s, record.Ticket, 1, `{"state":"cancelled"}`)
	refused("K1", "north", outcome.Cancelled)
	refusals(4, "another outcome")
	clock.Move(time.Minute - time.Microsecond)
	refused("K1", "north", outcome.Cancelled)
	refusals(4, "the minute is not over")
	clock.Move(time.Microsecond)
	refused("K1", "north", outcome.Cancelled)
	refusals(5, "the minute is over")
	for i := range 100 {
		refused(fmt.Sprintf("guess %d", i), "north", outcome.UnknownCode)
	}
	refusals(64, "a key writes sixty a minute") // 4 of the first minute, 60 of the second
	scanned(t, s, gate(t, s, event), door.Attempt{Event: event, Code: "guess", Door: "north"}, outcome.UnknownCode)
	refusals(65, "another key has its own sixty")
	clock.Move(time.Minute)
	refused("guess 99", "north", outcome.UnknownCode)
	refusals(66, "the next minute")
	whole := kvtest.Login(t, s, "denomination", "*:*")
	for _, event := range []int64{event, newEvent(t, s, "")} {
		scanned(t, s, whole, door.Attempt{Event: event, Code: "nobody's", Door: "gate"}, outcome.UnknownCode)
	}
	refusals(68, "another event")
	page := pageOf(t, s, record.Scan)
	for _, id := range page.IDs {
		text := record.Scan.FormatID(id)
		if fact(t, s, record.Scan, text, "code_hash") == "null" || fact(t, s, record.Scan, text, "length") == "0" {
			t.Errorf("refusal %s lacks the hash or length of what was read", text)
		}
	}
	healthy(t, s)
}

// TestManyDoorsAdmitACodeOnce: of N concurrent scans of one code exactly one is an admission.
func TestManyDoorsAdmitACodeOnce(t *testing.T) {
	const doors, codes = 32, 300
	s, _ := opened(t)
	event := newEvent(t, s, "")
	var rows []entry.Row
	for i := range codes {
		rows = append(rows, row(t, record.Ticket, 0, fmt.Sprintf(`{"event_id":%d,"code":"CODE-%d"}`, event, i)))
	}
	loaded(t, s, rows...)
	p := gate(t, s, event)
	var mu sync.Mutex
	admissions := map[string][]string{}
	named := map[string]map[string]bool{}
	var wg sync.WaitGroup
	for n := range doors {
		wg.Go(func() {
			for i := range codes {
				code := fmt.Sprintf("CODE-%d", (i+n*7)%codes)
				d, err := s.Door.CheckIn(p, door.Attempt{Event: event, Code: code, Door: fmt.Sprint(n % 4)})
				if err != nil {
					t.Errorf("CheckIn(%s): %v", code, err)
					return
				}
				mu.Lock()
				if d.Outcome == outcome.Admitted {
					admissions[code] = append(admissions[code], d.CheckinID)
				}
				if named[code] == nil {
					named[code] = map[string]bool{}
				}
				named[code][d.CheckinID] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for code, all := range named {
		if len(admissions[code]) != 1 || len(all) != 1 {
			t.Errorf("%s was admitted %d times, answers name %d check-ins, want one", code, len(admissions[code]), len(all))
		}
	}
	if n := pageOf(t, s, record.Checkin).Count; n != codes || len(named) != codes {
		t.Errorf("%d admissions of %d codes are written, want %d", n, len(named), codes)
	}
	healthy(t, s)
}
