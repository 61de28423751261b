package venue_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/sync/venue"
)

// revokes has the centre revoke its only laptop.
func (w *town) revokes() {
	w.Helper()
	all, err := w.centre.Venues.Venues(auth.Operator())
	if err != nil || len(all) != 1 {
		w.Fatalf("Venues() = %v, %v", all, err)
	}
	if err := w.centre.Venues.RevokeVenue(auth.Operator(), all[0].ID); err != nil {
		w.Fatal(err)
	}
}

// TestARevokedLaptopCallsLessAndLessOften: its facts are still taken, but it does not ask for ever whether they are.
func TestARevokedLaptopCallsLessAndLessOften(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.join()
	w.arrives(w.laptop, w.sell(w.centre, "first"))
	w.revokes()
	w.tells("this laptop is revoked")
	_, err := w.laptop.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket}, kvtest.Parse(t, record.Ticket, fmt.Sprintf(`{"event_id":%d}`, w.event), true))
	var no *auth.Forbidden
	if !errors.As(err, &no) || !strings.Contains(no.Reason, "revoked") {
		t.Errorf("a sale on a revoked laptop = %v, want *Forbidden that says so: its centre takes no ticket from it", err)
	}
	if d, err := w.laptop.Door.CheckIn(auth.Operator(), door.Attempt{Event: w.event, Code: "first"}); err != nil || d.Outcome != outcome.Admitted {
		t.Errorf("a check-in on a revoked laptop = %q, %v, want it admitted", d.Outcome, err)
	}
	began, before := time.Now(), w.hellos.Load()
	for w.hellos.Load() < before+4 {
		time.Sleep(10 * time.Millisecond)
	}
	if took := time.Since(began); took < 2*time.Second { // pauses of half a second at most, which do not grow, take no longer
		t.Errorf("it has called four times within %v", took)
	}
}

// TestAnIdleLaptopHearsOfItsRevocationAtOnce: the question that it waits with is refused, and the handshake tells why. Its feeds would notice at their
// next heartbeat, after ten seconds.
func TestAnIdleLaptopHearsOfItsRevocationAtOnce(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.join()
	w.arrives(w.laptop, w.sell(w.centre, "first"))
	for before := w.hellos.Load(); w.hellos.Load() == before; { // the handshake soon after the copy: then nothing is to be said
		time.Sleep(10 * time.Millisecond)
	}
	began := time.Now()
	w.revokes()
	w.tells("this laptop is revoked")
	if took := time.Since(began); took > 7*time.Second {
		t.Errorf("it heard after %v", took)
	}
}

// TestACentreThatForgetsARevocationTakesTheLaptopBack: it was put back to before.
func TestACentreThatForgetsARevocationTakesTheLaptopBack(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.enrol(w.laptop)
	w.visits(w.laptop)
	u, _, err := w.laptop.Laptop.Upstream()
	if err != nil {
		t.Fatal(err)
	}
	u.Revoked, u.Epoch = true, "01J00000000000000000000000" // as the centre was when it was met last
	if err := w.laptop.Laptop.NoteUpstream(u); err != nil {
		t.Fatal(err)
	}
	var no *auth.Forbidden
	if _, err := w.sellsAt(w.event); !errors.As(err, &no) {
		t.Fatalf("a sale before it is met again = %v, want *Forbidden", err)
	}
	w.visits(w.laptop)
	id, err := w.sellsAt(w.event)
	if err != nil {
		t.Fatalf("a sale after that = %v", err)
	}
	w.visits(w.laptop)
	if _, err := w.centre.Desk.Retrieve(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: id}); err != nil {
		t.Errorf("the ticket at the centre = %v", err)
	}
}

// TestNobodyWaitsForWhatARevokedLaptopHas: it may never come again, so that an alert on what it has last told of itself would never end.
func TestNobodyWaitsForWhatARevokedLaptopHas(t *testing.T) {
	w := newTown(t)
	registry := prometheus.NewPedanticRegistry()
	if _, err := venue.New(venue.Config{Store: w.centre, Registerer: registry}); err != nil {
		t.Fatal(err)
	}
	ids := map[string]int64{}
	for name, node := range map[string]string{"stays": "01J00000000000000000000000", "goes": "01J00000000000000000000001"} {
		c := w.enrolled(node)
		p, err := w.centre.Keys.Login(c.Key, "secret")
		if err == nil {
			err = w.centre.Venues.NoteContact(p, office.Contact{At: time.Now(), Backlog: 7, Oldest: time.Now()})
		}
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = c.ID
	}
	metrics := []string{"doorward_peer_lag_changes", "doorward_peer_oldest_unacknowledged_timestamp_seconds", "doorward_peer_last_contact_timestamp_seconds"}
	one, all := []string{fmt.Sprint(ids["stays"])}, []string{fmt.Sprint(ids["stays"]), fmt.Sprint(ids["goes"])}
	slices.Sort(all)
	for _, step := range []struct {
		ends    func(auth.Principal, int64) error
		peers   []string
		backlog int
	}{
		{func(auth.Principal, int64) error { return nil }, all, 7},
		{w.centre.Venues.RevokeVenue, one, 0},
		{w.centre.Venues.WipeVenue, one, 0},
	} {
		if err := step.ends(auth.Operator(), ids["goes"]); err != nil {
			t.Fatal(err)
		}
		for _, name := range metrics {
			if got := peersOf(t, registry, name); !slices.Equal(got, step.peers) {
				t.Errorf("%s is of %v, want %v", name, got, step.peers)
			}
		}
		venues, err := w.centre.Venues.Venues(auth.Operator())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range venues {
			if e.ID == ids["goes"] && e.Contact.Backlog != step.backlog || e.ID == ids["stays"] && e.Contact.Backlog != 7 {
				t.Errorf("laptop %d, of which one is %d, has a backlog of %d", e.ID, ids["goes"], e.Contact.Backlog)
			}
		}
	}
}

// peersOf are the peers of which a metric tells.
func peersOf(t *testing.T, r prometheus.Gatherer, name string) (peers []string) {
	t.Helper()
	for labels := range gauge(t, r, name) {
		peers = append(peers, labels["peer"])
	}
	slices.Sort(peers)
	return peers
}
