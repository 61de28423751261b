package venue_test

import (
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"doorward/kv/kvtest"
	"doorward/sync/peertest"
	"doorward/sync/venue"

	"github.com/prometheus/client_golang/prometheus"
)

const noCentre = "no Doorward centre answers there"

// TestAPortalIsNoCentre: before the laptop has met its centre and after, whoever answers in its place is told apart, and changes nothing:
// neither the clock nor the session nor what the metrics say of the link.
func TestAPortalIsNoCentre(t *testing.T) {
	t.Parallel()
	for name, met := range map[string]bool{"before a first contact": false, "after one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			w.enrol(w.laptop)
			if met {
				w.visits(w.laptop)
			}
			u, _, err := w.laptop.Laptop.Upstream()
			if err != nil {
				t.Fatal(err)
			}
			u.URL = peertest.Strange(t)
			if err := w.laptop.Laptop.NoteUpstream(u); err != nil {
				t.Fatal(err)
			}
			session, before, err := w.laptop.Keys.Session()
			if err != nil {
				t.Fatal(err)
			}
			clock, registry := w.laptop.Tables.Clock.Reading(), prometheus.NewPedanticRegistry()
			_, leave := w.followAs(venue.Config{Store: w.laptop, Registerer: registry})
			if line := <-w.log; !strings.Contains(line, noCentre) {
				t.Errorf("the log says %s, want %q", line, noCentre)
			}
			for _, metric := range []string{"doorward_peer_last_contact_timestamp_seconds", "doorward_peer_last_success_timestamp_seconds"} {
				if got := peersOf(t, registry, metric); len(got) > 0 {
					t.Errorf("%s tells of %v", metric, got)
				}
			}
			leave()
			if got := w.laptop.Tables.Clock.Reading(); got != clock {
				t.Errorf("the clock is %+v, was %+v", got, clock)
			}
			if id, chain, err := w.laptop.Keys.Session(); err != nil || id != session || !slices.Equal(chain, before) {
				t.Errorf("Session() = %s after %v, %v, want %s after %v", id, chain, err, session, before)
			}
		})
	}
}

// TestAGreetingIsTheCentresOwn: also where somebody on the way keeps the head of its answer.
func TestAGreetingIsTheCentresOwn(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.enrol(w.laptop)
	node, epoch, now := fmt.Sprintf(`"node":%q`, w.centre.Tables.Identity.Node()), fmt.Sprintf(`"epoch":%q`, w.centre.Tables.Epochs.Present()), `"now":"2026-05-01T12:00:00Z"`
	for name, parts := range map[string][]string{
		"nothing": nil, "no node": {epoch, now}, "another's node": {fmt.Sprintf(`"node":%q`, w.laptop.Tables.Identity.Node()), epoch, now}, "no epoch": {node, now}, "no time": {node, epoch},
	} {
		clock := w.laptop.Tables.Clock.Reading()
		client := peertest.Portal("/_hello", "{"+strings.Join(parts, ",")+"}", http.Header{"Doorward-Node": {w.centre.Tables.Identity.Node()}})
		_, err := venue.VisitOnce(t.Context(), venue.Config{Store: w.laptop}, client, func() { t.Errorf("%s counts as a greeting", name) })
		if err == nil || err.Error() != noCentre || w.laptop.Tables.Clock.Reading() != clock {
			t.Errorf("a greeting of %s = %v, and the clock is %+v; want %q, and no other clock", name, err, w.laptop.Tables.Clock.Reading(), noCentre)
		}
	}
}

// TestNothingIsHandedToAPortal: one that comes between the laptop and its centre during a visit acknowledges nothing, whatever it is that
// it answers, and what was made on the laptop comes to the centre with the next visit.
func TestNothingIsHandedToAPortal(t *testing.T) {
	t.Parallel()
	for _, paths := range []string{"/sync/event", "/_revs_diff", "/_feed", "/_local/"} {
		t.Run(paths[1:], func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			w.enrol(w.laptop)
			w.visits(w.laptop)
			sold, theirs := w.sell(w.laptop, "walk-in"), w.sell(w.centre, "theirs")
			if _, err := venue.VisitOnce(t.Context(), venue.Config{Store: w.laptop}, peertest.Portal(paths, "{}", nil), func() {}); err == nil || err.Error() != noCentre {
				t.Errorf("a visit to a portal = %v, want %q", err, noCentre)
			}
			registry := prometheus.NewPedanticRegistry()
			if _, err := venue.New(venue.Config{Store: w.laptop, Registerer: registry}); err != nil {
				t.Fatal(err)
			}
			if n := lagOf(t, registry, "push"); n == 0 {
				t.Error("nothing waits for the centre, want what was sold")
			}
			w.visits(w.laptop)
			w.arrives(w.centre, sold)
			w.arrives(w.laptop, theirs)
		})
	}
}

// TestAGatewayThatKnowsNoPathIsNoCentre: while the centre starts again, a gateway in front answers 404. No database is taken for one that
// does not exist: what is sold afterwards comes.
func TestAGatewayThatKnowsNoPathIsNoCentre(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	var down atomic.Bool
	gateway := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if down.Load() {
			http.NotFound(rw, r)
			return
		}
		w.serving.Load().ServeHTTP(rw, r)
	}))
	t.Cleanup(gateway.Close)
	w.url = gateway.URL
	w.enrol(w.laptop)
	_, leave := w.follow(w.laptop)
	t.Cleanup(leave)
	w.arrives(w.laptop, w.sell(w.centre, "first"))
	down.Store(true)
	w.serve() // the feeds end
	w.tells(noCentre)
	down.Store(false)
	w.arrives(w.laptop, w.sell(w.centre, "second"))
}

// TestNobodyJoinsAPortal: the code is not lost, and the store has no centre.
func TestNobodyJoinsAPortal(t *testing.T) {
	t.Parallel()
	s := kvtest.Open(t)
	if _, err := venue.Join(t.Context(), venue.JoinConfig{Store: s, URL: peertest.Strange(t), Code: "ABCD"}); err == nil || err.Error() != noCentre {
		t.Errorf("Join = %v, want %q", err, noCentre)
	}
	if _, joined, err := s.Laptop.Upstream(); err != nil || joined {
		t.Errorf("it has joined: %t, %v", joined, err)
	}
	if err := s.Laptop.MayJoin(kvtest.Open(t).Tables.Identity.Realm()); err != nil {
		t.Errorf("MayJoin = %v, want it empty still", err)
	}
}

// gauge are the values of a gauge, by their labels.
func gauge(t testing.TB, r prometheus.Gatherer, name string) iter.Seq2[map[string]string, float64] {
	t.Helper()
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(map[string]string, float64) bool) {
		for _, family := range all {
			if family.GetName() != name {
				continue
			}
			for _, m := range family.GetMetric() {
				labels := map[string]string{}
				for _, l := range m.GetLabel() {
					labels[l.GetName()] = l.GetValue()
				}
				if !yield(labels, m.GetGauge().GetValue()) {
					return
				}
			}
		}
	}
}

// lagOf is by how many changes a store and its centre are apart, one way.
func lagOf(t testing.TB, r prometheus.Gatherer, direction string) float64 {
	t.Helper()
	for labels, n := range gauge(t, r, "doorward_peer_lag_changes") {
		if labels["direction"] == direction {
			return n
		}
	}
	t.Fatalf("nothing tells of the lag of %s", direction)
	return 0
}
