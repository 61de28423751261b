package kv_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
)

func TestDeleteCountsWhatRefers(t *testing.T) {
	s, _ := opened(t)
	loaded(t, s, row(t, record.Regional, 1, `{"name":"R"}`), row(t, record.Church, 1, `{"name":"A","regional_id":1}`),
		row(t, record.Group, 1, `{"name":"G"}`), row(t, record.Person, 1, `{"full_name":"Ana","church_id":1}`),
		row(t, record.Person, 2, `{"full_name":"Eva","church_id":1}`), row(t, record.Membership, 1, `{"person":1,"group_id":1}`),
		row(t, record.Event, 1, `{"name":"E","start_datetime":"2026-11-22T19:00:00Z","church_id":1,"regional_id":1}`),
		row(t, record.Ticket, 1, `{"event_id":1,"code":"K1","person_id":1}`), row(t, record.Ticket, 2, `{"event_id":1,"code":"K2"}`))
	first := scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: "K1"}, outcome.Admitted)
	undone(t, s, auth.Operator(), 1, first.CheckinID)
	scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: "K1"}, outcome.Admitted)
	for _, c := range []struct {
		kind *record.Kind
		want map[string]int
	}{
		{record.Regional, map[string]int{"church": 1, "event": 1}},
		{record.Church, map[string]int{"person": 2, "event": 1}},
		{record.Group, map[string]int{"membership": 1}},
		{record.Person, map[string]int{"membership": 1, "ticket": 1}},
		{record.Event, map[string]int{"ticket": 2, "checkin": 2, "undo": 1}},
		{record.Ticket, map[string]int{"checkin": 2}},
	} {
		conflict := &table.Conflict{}
		err := s.Desk.Delete(auth.Operator(), target(c.kind, 1))
		if !errors.As(err, &conflict) || !maps.Equal(conflict.Counts, c.want) {
			t.Errorf("delete of a %s = %v, counting %v, want %v", c.kind.Name, err, conflict.Counts, c.want)
		}
	}
	healthy(t, s)
}

// TestUsedTicketStaysAtItsEvent tries to move tickets, by hand and by import; one that nobody used may go.
func TestUsedTicketStaysAtItsEvent(t *testing.T) {
	s, _ := opened(t)
	here, there := newEvent(t, s, ""), newEvent(t, s, "")
	used, fresh := newTicket(t, s, here, "K1", ""), newTicket(t, s, here, "K2", "")
	scanned(t, s, auth.Operator(), door.Attempt{Event: here, Code: "K1"}, outcome.Admitted)
	move := fmt.Sprintf(`{"event_id":%d}`, there)
	for id, want := range map[int64]string{used: "conflict", fresh: "ok"} {
		_, err := s.Desk.Update(auth.Operator(), target(record.Ticket, id), kvtest.Parse(t, record.Ticket, move, false))
		if kindOf(err) != want {
			t.Errorf("ticket %d moved: %v, want %s", id, err, want)
		}
	}
	got, err := s.Desk.Upsert(auth.Operator(), []entry.Row{{Kind: record.Ticket, ID: record.Int(used), Patch: kvtest.Parse(t, record.Ticket, move, false)}}, false)
	if err != nil || got[0].Fate != desk.Rejected || kindOf(got[0].Err) != "conflict" {
		t.Errorf("a row that moves a used ticket = %+v, %v, want it rejected", got, err)
	}
	scanned(t, s, auth.Operator(), door.Attempt{Event: here, Code: "K1"}, outcome.AlreadyAdmitted)
}

func TestDeletedTicketFreesItsCode(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, "")
	ticket := newTicket(t, s, event, "K1", `,"holder_name":"Ana","external_id":"x"`)
	form := kvtest.Parse(t, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"K1"}`, event), true)
	if _, err := s.Desk.Create(auth.Operator(), target(record.Ticket, 0), form); !errors.Is(err, table.ErrConflict) {
		t.Errorf("a second ticket of the code = %v, want a conflict", err)
	}
	holding := kv.Present(t, s, ticket)
	if err := s.Desk.Delete(auth.Operator(), target(record.Ticket, ticket)); err != nil {
		t.Fatal(err)
	}
	for k, id := range map[*record.Kind]record.ID{record.Ticket: record.Int(ticket), record.TicketCode: record.Int(ticket), record.HolderName: holding, record.Holder: holding, record.HolderLabel: holding} {
		at := target(k, 0)
		at.ID = id
		if _, err := s.Desk.Retrieve(auth.Operator(), at); !errors.Is(err, table.ErrNotFound) {
			t.Errorf("%s of a deleted ticket = %v, want ErrNotFound", k.Name, err)
		}
	}
	if err := s.Desk.Delete(auth.Operator(), target(record.Ticket, ticket)); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("second delete = %v, want ErrNotFound", err)
	}
	scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "K1"}, outcome.UnknownCode)
	again := newTicket(t, s, event, "K1", `,"external_id":"x"`)
	if d := scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "K1"}, outcome.Admitted); again == ticket || d.Label != "" {
		t.Errorf("the new ticket %d of the code answers %+v", again, d)
	}
	healthy(t, s)
}

func TestChangedCodeLeavesTheOldOne(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, "")
	ticket := newTicket(t, s, event, "K1", "")
	patched(t, s, record.Ticket, ticket, `{"code":"K2"}`)
	scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "k1"}, outcome.UnknownCode)
	scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "k2"}, outcome.Admitted)
	patched(t, s, record.Ticket, ticket, `{"code":"K3"}`)
	scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "K3"}, outcome.AlreadyAdmitted)
	newTicket(t, s, event, "K2", "") // the code that was let in, on another ticket: it has been used
	scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "K2"}, outcome.AlreadyAdmitted)
	healthy(t, s)
}

func TestIfMatchWantsTheRevisionThatIsThere(t *testing.T) {
	s, _ := opened(t)
	id := kvtest.Create(t, s, record.Church, `{"name":"A"}`)
	first, err := s.Desk.Retrieve(auth.Operator(), target(record.Church, id))
	if err != nil {
		t.Fatal(err)
	}
	to := target(record.Church, id)
	to.IfMatch = []string{first.Revision}
	second, err := s.Desk.Update(auth.Operator(), to, kvtest.Parse(t, record.Church, `{"name":"B"}`, false))
	if err != nil || !strings.HasPrefix(second.Revision, "2-") {
		t.Fatalf("update at the right revision = %+v, %v", second, err)
	}
	if _, err := s.Desk.Update(auth.Operator(), to, kvtest.Parse(t, record.Church, `{"name":"C"}`, false)); !errors.Is(err, desk.ErrStale) {
		t.Errorf("update at an old revision = %v, want ErrStale", err)
	}
	if err := s.Desk.Delete(auth.Operator(), to); !errors.Is(err, desk.ErrStale) {
		t.Errorf("delete at an old revision = %v, want ErrStale", err)
	}
	to.IfMatch = []string{"1-0", second.Revision}
	if err := s.Desk.Delete(auth.Operator(), to); err != nil {
		t.Errorf("delete at the right revision: %v", err)
	}
}

func TestATicketsRevisionSpeaksOfAllItsParts(t *testing.T) {
	s := kvtest.Open(t)
	kvtest.Create(t, s, record.Event, `{"name":"E","start_datetime":"2026-11-22T19:00:00Z"}`)
	kvtest.Create(t, s, record.Ticket, `{"event_id":1,"code":"K1","email":"one@example.org"}`)
	to := target(record.Ticket, 1)
	first, err := s.Desk.Retrieve(auth.Operator(), to)
	if err != nil {
		t.Fatal(err)
	}
	to.IfMatch = []string{first.Revision}
	for i, want := range []error{nil, desk.ErrStale} {
		body := fmt.Sprintf(`{"email":"%d@example.org"}`, i)
		if _, err := s.Desk.Update(auth.Operator(), to, kvtest.Parse(t, record.Ticket, body, false)); !errors.Is(err, want) {
			t.Errorf("change %d of the e-mail on the first revision = %v, want %v", i+1, err, want)
		}
	}
}

func TestAnEventThatOnlyFactsAreOfIsKept(t *testing.T) {
	s := kvtest.Open(t)
	kvtest.Create(t, s, record.Event, `{"name":"E","start_datetime":"2026-11-22T19:00:00Z"}`)
	scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: "nobody's"}, outcome.UnknownCode)
	conflict := &table.Conflict{}
	if err := s.Desk.Delete(auth.Operator(), target(record.Event, 1)); !errors.As(err, &conflict) || conflict.Counts["scan"] != 1 {
		t.Errorf("delete of an event with a refusal = %v, %v", err, conflict.Counts)
	}
}
