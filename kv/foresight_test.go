package kv_test

import (
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
)

// TestDecisionsAreMadeOnWhatIsStored changes what a check-in has looked up already before the writer comes to it.
func TestDecisionsAreMadeOnWhatIsStored(t *testing.T) {
	for _, c := range []struct {
		name    string
		between func(t *testing.T, s *kv.Store, event, ticket int64)
		want    outcome.Outcome
	}{
		{"nothing", func(*testing.T, *kv.Store, int64, int64) {}, outcome.Admitted},
		{"the ticket is cancelled", func(t *testing.T, s *kv.Store, _, ticket int64) {
			patched(t, s, record.Ticket, ticket, `{"state":"cancelled"}`)
		}, outcome.Cancelled},
		{"the ticket is deleted", func(t *testing.T, s *kv.Store, _, ticket int64) {
			if err := s.Desk.Delete(auth.Operator(), target(record.Ticket, ticket)); err != nil {
				t.Fatal(err)
			}
		}, outcome.UnknownCode},
		{"the ticket gets another code", func(t *testing.T, s *kv.Store, _, ticket int64) {
			patched(t, s, record.Ticket, ticket, `{"code":"another"}`)
		}, outcome.UnknownCode},
		{"the event is closed", func(t *testing.T, s *kv.Store, event, _ int64) {
			patched(t, s, record.Event, event, `{"enabled":false}`)
		}, outcome.EventClosed},
		{"somebody else is admitted with it", func(t *testing.T, s *kv.Store, event, _ int64) {
			scanned(t, s, gate(t, s, event), door.Attempt{Event: event, Code: "a"}, outcome.Admitted)
		}, outcome.AlreadyAdmitted},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := opened(t)
			event := newEvent(t, s, "")
			ticket := newTicket(t, s, event, "a", "")
			p := gate(t, s, event)
			d, err := kv.CheckInAfter(s, p, door.Attempt{Event: event, Code: "a"}, func() { c.between(t, s, event, ticket) })
			if err != nil || d.Outcome != c.want {
				t.Errorf("CheckIn = %+v, %v, want %s", d, err, c.want)
			}
		})
	}
}

// TestDecisionsAreMadeOnWhatTheGroupHolds changes a ticket in the very group that a check-in of it goes into.
func TestDecisionsAreMadeOnWhatTheGroupHolds(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, "")
	ticket := newTicket(t, s, event, "a", "")
	p, groups := gate(t, s, event), kv.Groups(s)
	release := kv.HoldAfter(s, record.Int(ticket), kvtest.Parse(t, record.Ticket, `{"state":"cancelled"}`, false))
	decided := make(chan door.Decision, 1)
	go func() {
		d, err := s.Door.CheckIn(p, door.Attempt{Event: event, Code: "a"})
		if err != nil {
			t.Error(err)
		}
		decided <- d
	}()
	waiting(s, 1)
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if d := <-decided; d.Outcome != outcome.Cancelled {
		t.Errorf("CheckIn beside a cancellation = %+v", d)
	}
	if n := kv.Groups(s) - groups; n != 1 {
		t.Errorf("they made %d groups, want one", n)
	}
}
