package kv_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/fault"
	"doorward/kv/record"
)

// TestALaptopOfAChurchSellsAtTheEventItHasAlong: at an event of nobody's church it writes what a laptop of that event does, and once
// it is revoked its centre lets it come to its facts.
func TestALaptopOfAChurchSellsAtTheEventItHasAlong(t *testing.T) {
	s := twoChurches(t) // event 1 is of church 1, event 3 of none
	other := newEvent(t, s, "")
	newTicket(t, s, 3, "MADE-HERE", "")
	p, c := letIn(t, s, kv.Enrolment{Name: "north", Level: kv.Level{Name: kv.ChurchOf, IDs: []int64{1}}, Events: []int64{3}, Venue: kv.Venue{Names: true}})
	sold := func(id string, event int64) kv.DocWrite {
		return kv.DocWrite{ID: id, Path: chain("a"), Author: kv.Author{Node: ulid.MustParse(laptopNode)}, Body: fmt.Appendf(nil, `{"code_hash":"%032d","event_id":%d,"label":"","state":"valid"}`, event, event)}
	}
	if err := push(t, opens(t, s, p, "event-3"), sold(drawnDoc(record.Ticket, 1), 3)); err != nil {
		t.Errorf("a ticket sold at the event = %v", err)
	}
	db := opens(t, s, p, "event-3")
	changed := onTop(t, db, record.Ticket.DocID(record.Int(1)), `"state":"valid"`, `"state":"blocked"`)
	if err := push(t, db, changed); kindOf(err) != "forbidden" {
		t.Errorf("a change of somebody else's ticket = %v, want forbidden", err)
	}
	if err := push(t, opens(t, s, p, fmt.Sprint("event-", other)), sold(drawnDoc(record.Ticket, 2), other)); kindOf(err) != "forbidden" {
		t.Errorf("a ticket of an event that it has not along = %v, want forbidden", err)
	}
	moved := onTop(t, db, record.Ticket.DocID(record.Int(1)), `"event_id":3`, `"event_id":1`)
	if err := push(t, opens(t, s, p, "event-1"), moved); kindOf(err) != "forbidden" {
		t.Errorf("somebody else's ticket taken to an event of the church = %v, want forbidden", err)
	}
	if _, err := s.Database(p, "event-2"); kindOf(err) != "forbidden" {
		t.Errorf("the database of another church's event = %v, want forbidden", err)
	}
	if err := s.RevokeVenue(kv.Operator(), c.ID); err != nil {
		t.Fatal(err)
	}
	p, err := s.RevokedNode(c.Key)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"event-3", "event-3-names", "event-3-holders"} {
		if _, err := opens(t, s, p, name).Missing([]kv.Revs{{ID: drawnDoc(record.Ticket, 1), Revisions: chain("b")}}); err != nil {
			t.Errorf("a revoked laptop's question at %s = %v", name, err)
		}
	}
}

// TestNoLaptopIsEnrolledForAnEventThatItsChurchDoesNotSee: it would be refused that event's database for ever.
func TestNoLaptopIsEnrolledForAnEventThatItsChurchDoesNotSee(t *testing.T) {
	s := twoChurches(t) // event 1 is of church 1, event 2 of church 2, event 3 of none
	for _, c := range []struct {
		level  string
		events []int64
		want   string
	}{
		{"church:1", []int64{1, 3}, ""},
		{"church:1", []int64{1, 2}, "Event 2 is of a church that the laptop is not enrolled for."},
		{"church:1,2", []int64{1, 2}, ""},
		{"regional:1", []int64{2}, "Event 2 is of a church that the laptop is not enrolled for."},
		{"regional:2", []int64{2, 3}, ""},
		{"denomination", []int64{1, 2}, ""},
		{"church:1", []int64{9}, fault.InvalidID(9)},
	} {
		l, err := kv.ParseLevel(c.level)
		if err != nil {
			t.Fatal(err)
		}
		_, _, _, err = s.Enrol(kv.Operator(), kv.Enrolment{Name: "north " + c.level + fmt.Sprint(c.events), Level: l, Events: c.events})
		var faults fault.ByField
		if errors.As(err, &faults); (err != nil) != (c.want != "") || strings.Join(faults["event"], " ") != c.want {
			t.Errorf("Enrol(%s with %v) = %v %v, want %q", c.level, c.events, err, faults, c.want)
		}
	}
}

// TestAnEventThatIsGoneEndsNoPush: what a church's laptop says of an event that was deleted meanwhile is judged, and the next document too.
func TestAnEventThatIsGoneEndsNoPush(t *testing.T) {
	s := twoChurches(t)
	p := enrolled(t, s, "church:1", kv.Venue{Names: true})
	db := opens(t, s, p, "event-1")
	changed := onTop(t, db, record.Event.DocID(record.Int(1)), `"active":true`, `"active":false`)
	if err := s.Delete(kv.Operator(), target(record.Event, 1)); err != nil {
		t.Fatal(err)
	}
	if err := push(t, db, changed); kindOf(err) == "not found" {
		t.Errorf("a change of an event that is gone = %v", err)
	}
}
