package venue_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/sync/venue"
)

// TestAnEventThatIsOverWaitsForTheCentresDisk: what was made of it offline is nowhere else. Both sides' metrics say that it is behind and
// why, the log once; and it goes once there is room, without being told.
func TestAnEventThatIsOverWaitsForTheCentresDisk(t *testing.T) {
	t.Parallel()
	d := newDisks(t)
	w := d.town
	d.leave()
	walkIn := w.sell(w.laptop, "walk-in")
	w.ends(time.Now().Add(-time.Hour))
	d.centre.Store(16 << 20) // check-ins alone

	stays := func() {
		t.Helper()
		d.follows()
		w.tells("the centre's disk is nearly full")
		for range 3 { // databases
			w.tells("an event that the centre wants dropped stays here")
		}
		d.full(1)
	}
	stays()
	d.leave()
	d.full(0) // as far as anybody knows
	stays()
	d.shakesHands()
	if said := w.said(); said != "" {
		t.Errorf("with the next handshake the log says %s", said)
	}
	d.full(1)
	venues, err := w.centre.Venues.Venues(auth.Operator())
	if here := lagOf(t, d.registry, "push"); here == 0 || err != nil || venues[0].Contact.Backlog != int(here) {
		t.Errorf("the laptop is %v changes behind, and the centre knows of %+v, %v; want both to know of the ticket", here, venues, err)
	}

	d.centre.Store(1 << 30)
	d.Wake()
	w.tells("the centre has room again")
	w.tells("were dropped")
	d.full(0)
	w.arrives(w.centre, walkIn)
	if n, lag := w.holds(w.laptop), lagOf(t, d.registry, "push"); n != 0 || lag != 0 {
		t.Errorf("the laptop has %d documents of an event that is over, and is %v changes behind", n, lag)
	}
}

// TestWhatAChurchKeepsOfAnEventIsNotBehind: the record of an event that was dropped is the church's, and is brought with what else is.
func TestWhatAChurchKeepsOfAnEventIsNotBehind(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	church := kvtest.Create(t, w.centre, record.Church, `{"name":"Igreja"}`)
	event := w.churchEvent(w.centre, church, "2026-01-01T21:00:00Z")
	kvtest.Create(t, w.centre, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"first"}`, event))
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{church}}})
	w.visits(w.laptop)
	registry := prometheus.NewRegistry()
	v, leave := w.followAs(venue.Config{Store: w.laptop, Registerer: registry})
	t.Cleanup(leave)
	w.passes(v)
	w.tells("were dropped")
	patch := kvtest.Parse(t, record.Event, `{"name":"Culto"}`, false)
	if _, err := w.laptop.Desk.Update(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Event, ID: record.Int(event)}, patch); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(20 * time.Second); lagOf(t, registry, "push") != 0; runtime.Gosched() {
		if time.Now().After(late) {
			t.Fatalf("the laptop is %v changes behind for good", lagOf(t, registry, "push"))
		}
	}
}
