package venue_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/sync/venue"

	"github.com/prometheus/client_golang/prometheus"
)

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

// TestALaptopSaysThatItsKeyHasExpired: the metric says when it will, and the log says that this is why the centre refuses it.
func TestALaptopSaysThatItsKeyHasExpired(t *testing.T) {
	t.Parallel()
	w, registry := newTown(t), prometheus.NewRegistry()
	w.enrol(w.laptop)
	_, leave := w.followAs(venue.Config{Store: w.laptop, Registerer: registry})
	w.arrives(w.laptop, w.sell(w.centre, "first"))
	leave()
	u, _, err := w.laptop.Laptop.Upstream()
	if err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range families {
		if f.GetName() == "doorward_credential_expiry_timestamp_seconds" {
			found = f.GetMetric()[0].GetGauge().GetValue() == float64(u.Ends.Unix())
		}
	}
	if !found {
		t.Errorf("no metric says that the key expires at %s", u.Ends)
	}
	w.later.Store(int64(401 * 24 * time.Hour))
	_, leave = w.follow(w.laptop)
	defer leave()
	w.tells(fmt.Sprintf(`level=ERROR msg="the centre refuses this laptop; what is made here is kept until it is enrolled there again" cause="this laptop's own key at the centre has expired on %s"`,
		u.Ends.UTC().Format(time.DateOnly)))
}

// TestKeysChangeAtAConnectedLaptop: one that is made at the centre lets in at the door, and one that is revoked lets nobody in any
// more, long before the two shake hands again.
func TestKeysChangeAtAConnectedLaptop(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.join()
	w.arrives(w.laptop, w.sell(w.centre, "first")) // it is connected
	for round := range 2 {
		key, secret := kvtest.Key(t, w.centre, "event:1", "checkin:*")
		w.login(key, secret, nil)
		p, err := w.centre.Keys.Login(key, secret)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := w.centre.Keys.RevokeKey(auth.Operator(), p.Key()); err != nil {
			t.Fatal(err)
		}
		w.login(key, secret, table.ErrRevoked)
		t.Logf("round %d: a revoked key is refused at the laptop after %v", round, time.Since(began))
	}
}

// login waits until a key is judged at the laptop as it is wanted.
func (w *town) login(key, secret string, want error) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 10*time.Second)
	defer cancel()
	db, err := w.laptop.Docs.Database(auth.Operator(), "records")
	if err != nil {
		w.Fatal(err)
	}
	for ctx.Err() == nil {
		info, err := db.Info()
		if err != nil {
			w.Fatal(err)
		}
		_, is := w.laptop.Keys.Login(key, secret)
		if errors.Is(is, want) {
			return
		}
		soon, end := context.WithTimeout(ctx, 50*time.Millisecond) // the change may be there already, and not count yet
		_ = db.Await(soon, info.Seq)
		end()
	}
	_, is := w.laptop.Keys.Login(key, secret)
	w.Fatalf("the key is judged %v, want %v", is, want)
}

// TestAWipeOutlastsABrokenLink: the laptop that has ended its doors for it does not keep its folder for one request that failed.
func TestAWipeOutlastsABrokenLink(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	var broken atomic.Int64
	link := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if broken.Add(-1) >= 0 {
			panic(http.ErrAbortHandler)
		}
		w.serving.Load().ServeHTTP(rw, r)
	}))
	t.Cleanup(link.Close)
	w.url = link.URL
	w.enrol(w.laptop)
	all, err := w.centre.Venues.Venues(auth.Operator())
	if err == nil {
		err = w.centre.Venues.WipeVenue(auth.Operator(), all[0].ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := venue.New(venue.Config{Store: w.laptop, Wipe: func() {}})
	if err != nil {
		t.Fatal(err)
	}
	broken.Store(1)
	if err := v.Farewell(t.Context()); err != nil {
		t.Errorf("Farewell = %v, want that it tries again", err)
	}
}
