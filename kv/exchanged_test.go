package kv_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// TestWhenAnEventIsOver: some time after its end, or after the laptop joined; never for a mirror, nor by a clock that is doubted.
func TestWhenAnEventIsOver(t *testing.T) {
	const long = 72 * time.Hour
	ended := time.Date(2026, 5, 3, 19, 0, 0, 0, time.UTC) // see invited
	for name, try := range map[string]struct {
		joined time.Time
		asked  time.Duration // after it joined
		mirror bool
		offset time.Duration // to a peer's clock
		after  time.Duration
		want   bool
	}{
		"over a day before":          {ended.Add(-time.Hour), long - 24*time.Hour, false, 0, long, false},
		"within a day before":        {ended.Add(-time.Hour), long - 22*time.Hour, false, 0, long, true},
		"afterwards":                 {ended.Add(-time.Hour), long + 2*time.Hour, false, 0, long, true},
		"joined later, soon":         {ended.Add(9 * long), long - 25*time.Hour, false, 0, long, false},
		"joined later":               {ended.Add(9 * long), long + time.Hour, false, 0, long, true},
		"a mirror":                   {ended, 9 * long, true, 0, long, false},
		"a clock that is doubted":    {ended, 9 * long, false, time.Hour, long, false},
		"events are never dropped":   {ended, 9 * long, false, 0, 0, false},
		"another time that is given": {ended, 2 * time.Hour, false, 0, time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			clock := kvtest.NewClock(try.joined)
			s, event, _, _ := invited(t, clock)
			e := office.Enrolment{Name: "south", Level: auth.Level{Name: auth.EventOf, IDs: []int64{event}}}
			if try.mirror {
				e = office.Enrolment{Name: "south", Level: auth.Level{Name: auth.Denomination}, Events: []int64{event}, Venue: auth.Venue{Mirror: true}}
			}
			p, _ := letIn(t, s, e)
			clock.Move(try.asked)
			if err := s.Tables.Clock.Measure(anotherNode, try.offset, s.Tables.Clock.Now()); err != nil {
				t.Fatal(err)
			}
			all, err := s.Venues.Exchanged(p, try.after)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range all {
				scope, _ := scopes.Parse(x.Name)
				if want := try.want && scope.ID == event; x.Drop != want {
					t.Errorf("%s is to be dropped = %t, want %t", x.Name, x.Drop, want)
				}
			}
		})
	}
}

// TestWhatALaptopDropsOfAnEventThatLeft: all that it holds of an event that it had. A mirror drops nothing, and only brings its facts.
func TestWhatALaptopDropsOfAnEventThatLeft(t *testing.T) {
	drops := []string{"drop event-1", "drop event-1-names", "drop event-1-holders", "drop event-1-labels"}
	church := auth.Level{Name: auth.ChurchOf, IDs: []int64{1}}
	for name, try := range map[string]struct {
		event string            // what becomes of it: an edit; "" = it is deleted
		next  *office.Enrolment // of the laptop; nil = it stays as it is
		left  bool
		want  []string
	}{
		"moved":                     {`{"church_id":2}`, nil, true, drops},
		"deleted":                   {"", nil, true, drops},
		"a laptop of another event": {`{}`, &office.Enrolment{Level: auth.Level{Name: auth.EventOf, IDs: []int64{2}}}, false, drops},
		"a mirror":                  {`{}`, &office.Enrolment{Level: auth.Level{Name: auth.Denomination}, Events: []int64{3}, Venue: auth.Venue{Mirror: true}}, false, []string{"keep event-1"}},
	} {
		s := twoChurches(t) // event 1 is of church 1
		newEvent(t, s, `,"church_id":2`)
		held := []int64{1, 2, 4} // events 2 and 4 are of church 2, so an event laptop of 2 never had 4
		p, _ := letIn(t, s, office.Enrolment{Name: "first", Level: church})
		if all, err := s.Venues.LeftEvents(p, held); err != nil || len(all) > 0 {
			t.Errorf("%s: before that LeftEvents = %+v, %v", name, all, err)
		}
		if try.event != "" {
			patched(t, s, record.Event, 1, try.event)
		} else if err := s.Desk.Delete(auth.Operator(), target(record.Event, 1)); err != nil {
			t.Fatal(err)
		}
		if try.next != nil {
			try.next.Name = "second"
			p = letInAgain(t, s, *try.next)
		}
		all, err := s.Venues.LeftEvents(p, held)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range all {
			got = append(got, map[bool]string{true: "drop ", false: "keep "}[x.Drop]+x.Name)
			if labels := strings.HasSuffix(x.Name, "labels"); x.Left != try.left || x.Push == labels {
				t.Errorf("%s: %+v, want left = %t, and all but labels to be pushed", name, x, try.left)
			}
		}
		if !slices.Equal(got, try.want) {
			t.Errorf("%s: LeftEvents = %q, want %q", name, got, try.want)
		}
	}
}

// TestWhichKeysGoToALaptop: those of its churches, and those of an event that has left as long as the laptop holds the event.
func TestWhichKeysGoToALaptop(t *testing.T) {
	s := twoChurches(t) // event 2 is of church 2
	patched(t, s, record.Event, 1, `{"church_id":2}`)
	for _, level := range []string{"event:1", "event:2", "event:3", "church:1", "church:2", "regional:1", "denomination"} {
		kvtest.Key(t, s, level)
	}
	p, _ := letIn(t, s, office.Enrolment{Name: "laptop", Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{2}}})
	for _, step := range []struct {
		name string
		held []int64
		want []string
	}{
		{"at first", nil, []string{"event:1", "event:2", "church:2"}},
		{"once event 1 has left, held", []int64{1, 3}, []string{"event:1", "event:2", "church:2"}},
		{"once it was dropped", []int64{3}, []string{"event:2", "church:2"}},
	} {
		if err := s.Venues.NoteContact(p, office.Contact{Events: step.held}); err != nil {
			t.Fatal(err)
		}
		ids, err := s.Venues.KeysFor(p)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, id := range ids {
			r, err := s.Desk.Retrieve(auth.Operator(), target(record.APIKey, id))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, value.Unquote([]byte(member(r.JSON, "level"))))
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("%s the keys of %q go to the laptop, want %q", step.name, got, step.want)
		}
		patched(t, s, record.Event, 1, `{"church_id":1}`)
	}
}

// TestWhenALaptopIsWiped: once it was told to wipe itself, and has said that it is about to.
func TestWhenALaptopIsWiped(t *testing.T) {
	s := twoChurches(t)
	p, c := letIn(t, s, office.Enrolment{Name: "laptop", Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{1}}})
	for _, step := range []struct{ told, says, wiped bool }{{false, true, false}, {true, false, false}, {true, true, true}} {
		if step.told {
			if err := s.Venues.WipeVenue(auth.Operator(), c.ID); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Venues.NoteContact(p, office.Contact{Wiped: step.says}); err != nil {
			t.Fatal(err)
		}
		r, err := s.Desk.Retrieve(auth.Operator(), target(record.Node, c.ID))
		if err != nil || (member(r.JSON, "wiped_at") != "null") != step.wiped {
			t.Errorf("%+v: the laptop is %s, %v", step, r.JSON, err)
		}
	}
}

// TestAnEventThatWasPutOffIsNotOver: its start has moved, and its end is still the old one. Doors serve it, and no laptop drops it.
func TestAnEventThatWasPutOffIsNotOver(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 5, 3, 19, 0, 0, 0, time.UTC))
	s, event, _, _ := invited(t, clock)
	p, _ := letIn(t, s, office.Enrolment{Name: "south", Level: auth.Level{Name: auth.EventOf, IDs: []int64{event}}})
	patch := kvtest.Parse(t, record.Event, `{"start_datetime":"2026-05-13T19:00:00Z"}`, false)
	if _, err := s.Desk.Update(auth.Operator(), target(record.Event, event), patch); err != nil {
		t.Fatal(err)
	}
	clock.Move(10*24*time.Hour - time.Hour)
	all, err := s.Venues.Exchanged(p, 72*time.Hour)
	if err != nil || slices.ContainsFunc(all, func(x office.Exchanged) bool { return x.Drop }) {
		t.Errorf("an hour before the event Exchanged = %+v, %v, want no drop", all, err)
	}
	if all, err := s.Door.DoorEvents(auth.Operator()); err != nil || len(all) != 1 {
		t.Errorf("DoorEvents = %+v, %v, want the event", all, err)
	}
	if all, err := s.Door.CurrentEvents(auth.Operator()); err != nil || len(all) != 1 {
		t.Errorf("CurrentEvents = %+v, %v, want the event", all, err)
	}
}

// TestWhoIsAGuestAtAnEvent: a laptop of the event, one of a church that it is not of, and a mirror.
func TestWhoIsAGuestAtAnEvent(t *testing.T) {
	for name, try := range map[string]struct {
		is   office.Enrolment
		want []string
	}{
		"of an event": {office.Enrolment{Level: auth.Level{Name: auth.EventOf, IDs: []int64{1}}}, []string{"event-1", "event-1-names", "event-1-holders"}},
		"of a church": {office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{1}}, Events: []int64{1, 3}}, []string{"event-3", "event-3-names", "event-3-holders"}},
		"a mirror":    {office.Enrolment{Level: auth.Level{Name: auth.Denomination}, Events: []int64{3}, Venue: auth.Venue{Mirror: true}}, []string{"event-3", "event-3-names", "event-3-holders"}},
	} {
		s := twoChurches(t) // event 1 is of church 1, event 3 of none
		try.is.Name = name
		p, _ := letIn(t, s, try.is)
		all, err := s.Venues.Exchanged(p, 0)
		if err != nil {
			t.Fatal(err)
		}
		var guest []string
		for _, x := range all {
			if x.Guest {
				guest = append(guest, x.Name)
			}
		}
		if !slices.Equal(guest, try.want) {
			t.Errorf("a laptop %s is a guest in %q, want %q", name, guest, try.want)
		}
	}
}

// TestAChurchKeepsItsEvents: what goes with an event is what only the event's databases hold.
func TestAChurchKeepsItsEvents(t *testing.T) {
	s := twoChurches(t)
	event := newEvent(t, s, `,"church_id":1`)
	db := scopes.Scope{Sort: scopes.Event, ID: event}.String()
	var tickets []int64
	for i := range 250 { // more than one operation takes
		tickets = append(tickets, newTicket(t, s, event, fmt.Sprintf("CODE-%d", i), ""))
	}
	upto, err := s.Laptop.Held(auth.Operator(), db, "reference", "church-1")
	if err != nil || upto == 0 {
		t.Fatalf("Held() = %d, %v", upto, err)
	}
	late := newTicket(t, s, event, "late", "")
	if err := s.Laptop.Release(auth.Operator(), db, upto, "reference", "church-1"); err != nil {
		t.Fatal(err)
	}
	for _, id := range tickets {
		if _, err := s.Desk.Retrieve(auth.Operator(), target(record.Ticket, id)); !errors.Is(err, table.ErrNotFound) {
			t.Fatalf("ticket %d = %v, want ErrNotFound", id, err)
		}
	}
	for k, id := range map[*record.Kind]int64{record.Event: event, record.Ticket: late} {
		if _, err := s.Desk.Retrieve(auth.Operator(), target(k, id)); err != nil {
			t.Errorf("%s %d = %v, want it to stay", k.Name, id, err)
		}
	}
	if err := s.Laptop.Release(auth.Operator(), db, s.Tables.Commits.Seq(), "reference", "church-1"); err != nil {
		t.Fatal(err)
	}
	if upto, err := s.Laptop.Held(auth.Operator(), db, "reference", "church-1"); err != nil || upto != 0 {
		t.Errorf("Held() after all = %d, %v, want 0", upto, err)
	}
	healthy(t, s)
}
