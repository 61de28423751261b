package kv_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/scopes"
)

// shorn is a store that holds a ticket without some of its records, as if they had been handed over: code "a", holder "Ana Souza".
func shorn(t *testing.T, parts ...scopes.Sort) (s *kv.Store, event, ticket int64) {
	t.Helper()
	s = kvtest.Open(t)
	event = newEvent(t, s, "")
	ticket = newTicket(t, s, event, "a", `,"holder_name":"Ana Souza","email":"a@example.org"`)
	for _, sort := range parts {
		name := scopes.Scope{Sort: sort, ID: event}.String()
		upto, err := s.Laptop.Held(auth.Operator(), name)
		if err == nil {
			err = s.Laptop.Release(auth.Operator(), name, upto)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s, event, ticket
}

// shown is a ticket as its writer sees it.
func shown(t *testing.T, s *kv.Store, ticket int64) string {
	t.Helper()
	r, err := s.Desk.Retrieve(auth.Operator(), target(record.Ticket, ticket))
	if err != nil {
		t.Fatal(err)
	}
	return string(r.JSON)
}

// TestALaptopTakesNothingForWhatItLacks: what belongs to a part of a ticket that only the centre has is refused, whole, and names the
// centre; all else changes as ever.
func TestALaptopTakesNothingForWhatItLacks(t *testing.T) {
	holders, names := scopes.EventHolders, scopes.EventNames
	for _, c := range []struct {
		lacks []scopes.Sort
		patch string
		want  string
	}{
		{[]scopes.Sort{holders}, `{"email":"b@example.org"}`, "forbidden"},
		{[]scopes.Sort{holders}, `{"type":"Adult","phone":"11 944442222"}`, "forbidden"},
		{[]scopes.Sort{holders}, `{"person_id":null}`, "forbidden"},
		{[]scopes.Sort{holders}, `{"code":"b"}`, "forbidden"},
		{[]scopes.Sort{holders}, `{"event_id":2}`, "forbidden"},
		{[]scopes.Sort{holders}, `{"type":"Adult","state":"blocked","event_id":1,"code":"a"}`, "ok"},
		{[]scopes.Sort{holders}, `{"holder_name":"Eva Lima"}`, "ok"},
		{[]scopes.Sort{holders, names}, `{"holder_name":"Eva Lima"}`, "forbidden"},
		{[]scopes.Sort{holders, names}, `{"type":"Adult"}`, "ok"},
		{nil, `{"holder_name":"Eva Lima","email":"b@example.org","phone":"11 944442222","code":"b"}`, "ok"},
	} {
		t.Run(fmt.Sprintf("%d %s", len(c.lacks), c.patch), func(t *testing.T) {
			s, _, ticket := shorn(t, c.lacks...)
			newEvent(t, s, "")
			if err := kv.SetLeaf(s); err != nil {
				t.Fatal(err)
			}
			before := shown(t, s, ticket)
			_, err := s.Desk.Update(auth.Operator(), target(record.Ticket, ticket), kvtest.Parse(t, record.Ticket, c.patch, false))
			if kindOf(err) != c.want || err != nil && !strings.Contains(err.Error(), "at the centre") {
				t.Errorf("Update = %v, want %s", err, c.want)
			}
			if after := shown(t, s, ticket); (after == before) != (err != nil) {
				t.Errorf("with the answer %v the ticket went from %s to %s", err, before, after)
			}
			healthy(t, s)
		})
	}
}

// TestALaptopRejectsRowsOfWhatItLacks: a row says why; one that says nothing of what is not here is no change.
func TestALaptopRejectsRowsOfWhatItLacks(t *testing.T) {
	s, event, _ := shorn(t, scopes.EventHolders)
	if err := kv.SetLeaf(s); err != nil {
		t.Fatal(err)
	}
	row := func(more string) entry.Row {
		return entry.Row{Kind: record.Ticket, Patch: kvtest.Parse(t, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"a"%s}`, event, more), true)}
	}
	got, err := s.Desk.Upsert(auth.Operator(), []entry.Row{row(`,"email":"b@example.org"`), row(`,"holder_name":"Ana Souza"`)}, false)
	if err != nil || got[0].Fate != desk.Rejected || !errors.Is(got[0].Err, auth.ErrForbidden) || got[1].Fate != desk.Unchanged {
		t.Errorf("Upsert = %+v, %v, want the first rejected as forbidden and the second unchanged", got, err)
	}
}

// TestALaptopDeletesNoTicketInPart: the private half would stay at the centre, where nobody sees it any more.
func TestALaptopDeletesNoTicketInPart(t *testing.T) {
	for _, c := range []struct {
		leaf  bool
		lacks []scopes.Sort
		want  string
	}{
		{true, []scopes.Sort{scopes.EventHolders}, "forbidden"},
		{true, nil, "ok"},
		{false, []scopes.Sort{scopes.EventHolders}, "ok"},
	} {
		s, _, ticket := shorn(t, c.lacks...)
		if c.leaf {
			if err := kv.SetLeaf(s); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Desk.Delete(auth.Operator(), target(record.Ticket, ticket)); kindOf(err) != c.want {
			t.Errorf("Delete where %d parts lack = %v, want %s", len(c.lacks), err, c.want)
		}
		healthy(t, s)
	}
}

// TestTheCentreCompletesATicket: what a laptop has never brought of it staff write themselves, and nothing of it is lost.
func TestTheCentreCompletesATicket(t *testing.T) {
	s, event, ticket := shorn(t, scopes.EventHolders, scopes.EventNames)
	before := shown(t, s, ticket)
	patched(t, s, record.Ticket, ticket, `{"person_id":null,"email":null,"holder_name":null}`)
	if after := shown(t, s, ticket); member([]byte(after), "email") != "null" || member([]byte(before), "code") != "null" {
		t.Errorf("emptied, the ticket is %s", after)
	}
	patched(t, s, record.Ticket, ticket, `{"email":"b@example.org","holder_name":"Eva Lima"}`)
	patched(t, s, record.Ticket, ticket, `{"code":"a","phone":"11 944442222"}`)
	got := []byte(shown(t, s, ticket))
	for field, want := range map[string]string{"event_id": fmt.Sprint(event), "code": `"a"`, "email": `"b@example.org"`, "holder_name": `"Eva Lima"`, "label": `"Eva L."`, "phone": `"11 944442222"`} {
		if v := member(got, field); v != want {
			t.Errorf("%s = %s, want %s", field, v, want)
		}
	}
	healthy(t, s)
}
