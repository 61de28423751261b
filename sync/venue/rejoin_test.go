package venue_test

import (
	"fmt"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/sync/venue"
)

// TestAFolderThatHoldsMoreThanItsCodeGivesDoesNotJoin: the code is good for another folder then.
func TestAFolderThatHoldsMoreThanItsCodeGivesDoesNotJoin(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	church := kvtest.Create(t, w.centre, record.Church, `{"name":"Igreja"}`)
	w.event = w.churchEvent(w.centre, church, "2040-01-01T21:00:00Z")
	w.sell(w.centre, "first")
	kvtest.Create(t, w.centre, record.Person, fmt.Sprintf(`{"full_name":"Ana Souza","church_id":%d}`, church))
	_, code, _, err := w.centre.Venues.Enrol(auth.Operator(), office.Enrolment{Name: "door", Level: auth.Level{Name: auth.EventOf, IDs: []int64{w.event}}, Venue: auth.Venue{Names: true}})
	if err != nil {
		t.Fatal(err)
	}
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{church}}, Venue: auth.Venue{Names: true}})
	w.visits(w.laptop)
	before, _, err := w.laptop.Laptop.Upstream()
	if err != nil {
		t.Fatal(err)
	}
	join := venue.JoinConfig{Store: w.laptop, URL: w.url, Code: code}
	if _, err := venue.Join(t.Context(), join); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("(church-%d)", church)) {
		t.Errorf("Join with all of a church = %v, want it named", err)
	}
	if now, _, err := w.laptop.Laptop.Upstream(); err != nil || now.Key != before.Key {
		t.Errorf("the laptop is %+v, %v, want what it was", now, err)
	}
	if _, err := w.centre.Keys.Login(before.Key, before.Secret); err != nil {
		t.Errorf("the key that it has = %v", err)
	}
	join.Store = kvtest.Open(t)
	if _, err := venue.Join(t.Context(), join); err != nil {
		t.Errorf("Join of an empty folder by the same code = %v", err)
	}
	w.visits(join.Store)
	if n := len(w.all(join.Store, record.HolderName)); n != 1 {
		t.Errorf("%d names came, want 1", n)
	}
}

// TestALaptopEnrolledForTheNextEventHandsOverTheLast: what it had made of that is at the centre, as if it had not been enrolled anew, and
// nothing of it stays at the laptop; but where staff has revoked it in between it keeps what it has, and joins with another folder.
func TestALaptopEnrolledForTheNextEventHandsOverTheLast(t *testing.T) {
	t.Parallel()
	for _, revoked := range []bool{false, true} {
		w := newTown(t)
		church := kvtest.Create(t, w.centre, record.Church, `{"name":"Igreja"}`)
		w.event = w.churchEvent(w.centre, church, "2040-01-01T21:00:00Z")
		last, next := w.event, w.churchEvent(w.centre, church, "2040-01-08T21:00:00Z")
		w.sell(w.centre, "first")
		at := func(event int64) office.Enrolment {
			return office.Enrolment{Name: fmt.Sprint("door of event ", event), Level: auth.Level{Name: auth.EventOf, IDs: []int64{event}}, Venue: auth.Venue{Names: true}}
		}
		w.enrolFor(w.laptop, at(last))
		w.visits(w.laptop)
		w.sell(w.laptop, "walk-in")
		for _, code := range []string{"first", "walk-in"} {
			if d := w.scan(w.laptop, code); d.Outcome != outcome.Admitted {
				t.Fatalf("a check-in at the laptop = %+v", d)
			}
		}
		_, code, _, err := w.centre.Venues.Enrol(auth.Operator(), at(next))
		if err != nil {
			t.Fatal(err)
		}
		if revoked {
			if err := w.centre.Venues.RevokeVenue(auth.Operator(), 1); err != nil {
				t.Fatal(err)
			}
		}
		_, err = venue.Join(t.Context(), venue.JoinConfig{Store: w.laptop, URL: w.url, Code: code})
		if revoked {
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("(event-%d, ", last)) {
				t.Errorf("Join of who was revoked = %v, want the last event named", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		_, leave := w.follow(w.laptop)
		w.tells("were dropped")
		leave()
		if got := w.all(w.centre, record.Checkin); len(got) != 2 {
			t.Errorf("check-ins at the centre = %s, want both", got)
		}
		if s, err := w.centre.Door.Status(auth.Operator(), last); err != nil || s.Admitted != 2 {
			t.Errorf("status at the centre = %+v, %v, want two admitted", s, err)
		}
		if got := w.all(w.centre, record.HolderName); len(got) != 2 || w.refusals() != "" {
			t.Errorf("the centre has %s and has refused %s", got, w.refusals())
		}
		for _, k := range []*record.Kind{record.Ticket, record.HolderName, record.Holder, record.Checkin} {
			if got := w.all(w.laptop, k); len(got) > 0 {
				t.Errorf("the laptop still holds %s", got)
			}
		}
	}
}
