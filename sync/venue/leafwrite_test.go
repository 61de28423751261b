package venue_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/sync/venue"
)

// TestALaptopMakesOnlyWhatItsCentreTakes: whatever its centre would refuse is refused on the laptop, where somebody can do something
// about it.
func TestALaptopMakesOnlyWhatItsCentreTakes(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	theirs := w.sell(w.centre, "theirs")
	w.join()
	w.arrives(w.laptop, theirs)
	change := func(id int64, to string) error {
		_, err := w.laptop.Desk.Update(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(id)},
			kvtest.Parse(t, record.Ticket, `{"type":"`+to+`"}`, false))
		return err
	}
	refused := func(what string, err error) {
		t.Helper()
		var no *auth.Forbidden
		if !errors.As(err, &no) || !strings.Contains(no.Reason, "centre") {
			t.Errorf("%s = %v, want *Forbidden that names the centre", what, err)
		}
	}
	refused("a change of the centre's ticket", change(theirs, "Adult"))
	refused("deleting it", w.laptop.Desk.Delete(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(theirs)}))
	for _, kind := range []*record.Kind{record.Church, record.Person, record.Event} {
		_, err := w.laptop.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: kind}, kvtest.Parse(t, kind, bodyFor(kind), true))
		refused("making a "+kind.Name, err)
	}

	own := w.sell(w.laptop, "own")
	if err := change(own, "Adult"); err != nil {
		t.Errorf("a change of the laptop's own ticket = %v", err)
	}
	w.arrives(w.centre, own)
	if _, err := w.centre.Desk.Update(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(own)},
		kvtest.Parse(t, record.Ticket, `{"state":"cancelled"}`, false)); err != nil {
		t.Fatal(err)
	}
	w.await(w.laptop, scopes.Event, "the cancellation", func(docs.DatabaseInfo) bool {
		r, err := w.laptop.Desk.Retrieve(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(own)})
		return err == nil && strings.Contains(string(r.JSON), `"state":"cancelled"`)
	})
	refused("a change of what the centre has changed", change(own, "Child"))
	if d, err := w.laptop.Door.CheckIn(auth.Operator(), door.Attempt{Event: w.event, Code: "own"}); err != nil || d.Outcome != outcome.Cancelled {
		t.Errorf("a check-in of a cancelled ticket = %q, %v", d.Outcome, err)
	}
}

// TestWhereATicketGoesCountsToo: a laptop of a church that has another's event along moves only what it has made itself into it, as its
// centre would have it.
func TestWhereATicketGoesCountsToo(t *testing.T) {
	t.Parallel()
	w := newTown(t) // its event is of no church
	church := kvtest.Create(t, w.centre, record.Church, `{"name":"Igreja"}`)
	own := w.churchEvent(w.centre, church, "2030-01-01T21:00:00Z")
	theirs := kvtest.Create(t, w.centre, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"theirs"}`, own))
	guests := w.sell(w.centre, "guest's")
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{church}}, Events: []int64{w.event, own}, Venue: auth.Venue{Names: true}})
	w.visits(w.laptop)
	move := func(id int64, to string) error {
		_, err := w.laptop.Desk.Update(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(id)},
			kvtest.Parse(t, record.Ticket, to, false))
		return err
	}
	if err := move(theirs, `{"type":"Adult"}`); err != nil {
		t.Errorf("a change of the centre's ticket at an event of the laptop's church = %v", err)
	}
	for id, to := range map[int64]int64{theirs: w.event, guests: own} {
		var no *auth.Forbidden
		if err := move(id, fmt.Sprintf(`{"event_id":%d}`, to)); !errors.As(err, &no) || !strings.Contains(no.Reason, "centre") || strings.Contains(no.Reason, "ticket") {
			t.Errorf("moving the centre's ticket into event %d = %v, want *Forbidden that names the centre, of records of any kind", to, err)
		}
	}
	mine := kvtest.Create(t, w.laptop, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"mine"}`, own))
	w.visits(w.laptop)
	if err := move(mine, fmt.Sprintf(`{"event_id":%d}`, w.event)); err != nil {
		t.Errorf("moving the laptop's own ticket there = %v", err)
	}
	w.visits(w.laptop)
	if d := w.scan(w.centre, "mine"); d.Outcome != outcome.Admitted || w.refusals() != "" {
		t.Errorf("the centre answers %q, and has refused %s; want the moved ticket taken", d.Outcome, w.refusals())
	}
}

// TestALaptopSellsWhatReachesItsCentre: one that takes all events of its church along sells at those that it makes itself, too; one that
// was enrolled for some of them sells at these alone, for of the others no ticket is ever brought.
func TestALaptopSellsWhatReachesItsCentre(t *testing.T) {
	t.Parallel()
	for name, all := range map[string]bool{"all events of its church": true, "some of them": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			church := kvtest.Create(t, w.centre, record.Church, `{"name":"Igreja"}`)
			own, other := w.churchEvent(w.centre, church, "2040-01-01T21:00:00Z"), w.churchEvent(w.centre, church, "2040-01-01T21:00:00Z")
			e := office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{church}}}
			if !all {
				e.Events = []int64{w.event, own}
			}
			w.enrolFor(w.laptop, e)
			w.visits(w.laptop)
			made := w.churchEvent(w.laptop, church, "2040-01-01T21:00:00Z")
			for _, event := range []int64{made, other, own} { // the first before the centre hears of it
				sells := all || event == own
				id, err := w.sellsAt(event)
				var no *auth.Forbidden
				switch {
				case sells && err != nil, !sells && (!errors.As(err, &no) || !strings.Contains(no.Reason, "enrolled for")):
					t.Errorf("selling at event %d = %v, want it sold: %t", event, err, sells)
				case sells:
					w.visits(w.laptop)
					w.visits(w.laptop) // the first brings the event that was made
					if _, err := w.centre.Desk.Retrieve(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: id}); err != nil {
						t.Errorf("the ticket of event %d at the centre = %v", event, err)
					}
				}
			}
		})
	}
}

// TestALaptopSellsNothingAtAnEventThatIsOver: it would be taken out of its file at once. It hears of one that was over when it was made,
// too.
func TestALaptopSellsNothingAtAnEventThatIsOver(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	church := kvtest.Create(t, w.centre, record.Church, `{"name":"Igreja"}`)
	event := w.churchEvent(w.centre, church, "2026-01-01T21:00:00Z")
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{church}}})
	w.visits(w.laptop)
	if _, err := w.sellsAt(event); err != nil {
		t.Errorf("selling soon after it has joined = %v", err)
	}
	v, leave := w.follow(w.laptop)
	t.Cleanup(leave)
	w.passes(v)
	w.tells("were dropped")
	late := w.churchEvent(w.centre, church, "2026-01-01T21:00:00Z")
	for _, event := range []int64{event, late} {
		w.hears(v, scopes.Scope{Sort: scopes.Event, ID: event}.String())
		_, err := w.sellsAt(event)
		var no *auth.Forbidden
		if !errors.As(err, &no) || !strings.Contains(no.Reason, "over") {
			t.Errorf("selling at event %d = %v, want *Forbidden that says that it is over", event, err)
		}
	}
}

// sellsAt sells a ticket at an event, on the laptop.
func (w *town) sellsAt(event int64) (record.ID, error) {
	w.Helper()
	r, err := w.laptop.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket}, kvtest.Parse(w, record.Ticket, fmt.Sprintf(`{"event_id":%d}`, event), true))
	return r.ID, err
}

// hears waits for the laptop to have been told that a database is over, and to have the event.
func (w *town) hears(v *venue.Venue, database string) {
	w.Helper()
	for late := time.Now().Add(20 * time.Second); time.Now().Before(late); runtime.Gosched() {
		u, _, err := w.laptop.Laptop.Upstream()
		if err != nil {
			w.Fatal(err)
		}
		scope, _ := scopes.Parse(database)
		_, err = w.laptop.Desk.Retrieve(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Event, ID: record.Int(scope.ID)})
		if err == nil && slices.Contains(u.Over, database) {
			return
		}
		v.Wake()
	}
	w.Fatalf("the laptop never hears that %s is over", database)
}

// enrolFor makes a store one of the centre's, for what an enrolment says.
func (w *town) enrolFor(laptop *kv.Store, e office.Enrolment) {
	w.Helper()
	e.Name = ulid.Make().String() // no two laptops have one name
	_, code, _, err := w.centre.Venues.Enrol(auth.Operator(), e)
	if err != nil {
		w.Fatal(err)
	}
	if _, err := venue.Join(w.Context(), venue.JoinConfig{Store: laptop, URL: w.url + "/#" + code}); err != nil {
		w.Fatal(err)
	}
}

// churchEvent makes an event of a church.
func (w *town) churchEvent(s *kv.Store, church int64, ends string) int64 {
	w.Helper()
	return kvtest.Create(w, s, record.Event, fmt.Sprintf(`{"name":"Feast","start_datetime":"2026-01-01T19:00:00Z","end_datetime":%q,"church_id":%d}`, ends, church))
}

func bodyFor(k *record.Kind) string {
	switch k {
	case record.Person:
		return `{"full_name":"Ana Souza"}`
	case record.Event:
		return `{"name":"Another","start_datetime":"2030-01-01T19:00:00Z"}`
	}
	return `{"name":"Another"}`
}
