package venue_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"doorward/kv/kvtest"
	"doorward/sync/peertest"
	"doorward/sync/venue"

	"github.com/prometheus/client_golang/prometheus"
)

// TestHandshakeIsForTheLaptopItself: nobody shakes hands in another's name.
func TestHandshakeIsForTheLaptopItself(t *testing.T) {
	w := newTown(t)
	const node, other = "01J00000000000000000000000", "01J00000000000000000000001"
	c := w.enrolled(node)
	page, pageSecret := kvtest.Key(t, w.centre, "denomination", "*:*")
	hello := func(realm, node, session string) string {
		return `{"realm":"` + realm + `","node":"` + node + `","session":"` + session + `","predecessor":"` + other + `","wants":["ticket","person","nothing"]}`
	}
	for name, ask := range map[string]struct {
		key, secret, body string
		status            int
	}{
		"the laptop":         {c.Key, "secret", hello(w.centre.Tables.Identity.Realm(), node, node), 200},
		"another laptop":     {c.Key, "secret", hello(w.centre.Tables.Identity.Realm(), other, node), 403},
		"another realm":      {c.Key, "secret", hello(other, node, node), 403},
		"no session":         {c.Key, "secret", hello(w.centre.Tables.Identity.Realm(), node, "x"), 400},
		"no JSON":            {c.Key, "secret", `{"realm":`, 400},
		"a wrong secret":     {c.Key, "guess", hello(w.centre.Tables.Identity.Realm(), node, node), 401},
		"a key of a page":    {page, pageSecret, hello(w.centre.Tables.Identity.Realm(), node, node), 403},
		"a body of no sense": {c.Key, "secret", `[]`, 400},
	} {
		status, body := w.post("/sync/_hello", ask.key, ask.secret, ask.body)
		if status != ask.status {
			t.Errorf("a handshake of %s = %d %s, want %d", name, status, body, ask.status)
		}
		if status == 200 && (!strings.Contains(body, `{"kind":"ticket","from":1,"to":100000}`) || strings.Contains(body, "person")) {
			t.Errorf("a handshake of %s = %s, want ids of tickets alone", name, body)
		}
	}
}

// TestASleepDuringAHandshakeIsNoOffset: the laptop sleeps for three hours while its question is on the way. The two clocks are right.
func TestASleepDuringAHandshakeIsNoOffset(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.enrol(w.laptop)
	sleeps := sync.OnceFunc(func() { w.later.Store(int64(3 * time.Hour)) })
	link := transport(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/_hello") {
			sleeps()
		}
		return http.DefaultTransport.RoundTrip(r)
	})
	if _, err := venue.VisitOnce(t.Context(), venue.Config{Store: w.laptop}, &http.Client{Transport: link}, func() {}); err != nil {
		t.Fatal(err)
	}
	if c := w.laptop.Tables.Clock.Reading(); c.Measured.IsZero() || c.Offset.Abs() > time.Minute {
		t.Errorf("the clocks differ by %v, measured at %v; want a measurement, and no difference", c.Offset, c.Measured)
	}
}

// TestADatabaseOfALaterVersionIsLeftOut: a centre of a later version gives a database of a sort that this one does not know. All others are
// exchanged.
func TestADatabaseOfALaterVersionIsLeftOut(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.enrol(w.laptop)
	id := w.sell(w.centre, "first")
	link := transport(func(r *http.Request) (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil || !strings.HasSuffix(r.URL.Path, "/_hello") {
			return resp, err
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		later := fmt.Sprintf(`"databases":[{"name":"event-%d-seats","push":true,"pull":true},`, w.event)
		resp.Body = io.NopCloser(strings.NewReader(strings.Replace(string(b), `"databases":[`, later, 1)))
		return resp, err
	})
	for range 2 { // the second also tells how far the first has come
		if _, err := venue.VisitOnce(t.Context(), venue.Config{Store: w.laptop}, &http.Client{Transport: link}, func() {}); err != nil {
			t.Fatal(err)
		}
	}
	w.arrives(w.laptop, id)
}

// TestALaptopKnowsTheTimeZoneOfItsCentre: the greeting tells it.
func TestALaptopKnowsTheTimeZoneOfItsCentre(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.enrol(w.laptop)
	w.visits(w.laptop)
	if u, _, err := w.laptop.Laptop.Upstream(); err != nil || u.Zone != "UTC" {
		t.Errorf("the centre's time zone is %q, %v, want UTC", u.Zone, err)
	}
}

// transport is a link that a function carries.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestAStoppedStoreIsNoFaultOfTheLaptop: it is told to come again, not that it asks for nonsense.
func TestAStoppedStoreIsNoFaultOfTheLaptop(t *testing.T) {
	w := newTown(t)
	const node = "01J00000000000000000000000"
	c := w.enrolled(node)
	body := `{"realm":"` + w.centre.Tables.Identity.Realm() + `","node":"` + node + `","session":"01J00000000000000000000002","predecessor":"01J00000000000000000000001"}`
	if err := w.centre.Close(); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/sync/_hello", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth(c.Key, "secret")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("a handshake with a stopped store = %d, Retry-After %q, want 503 and when to come again", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
}

// TestWhatIsWrongWithABodyIsTold: four things, each by its own words.
func TestWhatIsWrongWithABodyIsTold(t *testing.T) {
	w := newTown(t)
	const node = "01J00000000000000000000000"
	c := w.enrolled(node)
	for body, want := range map[string]struct {
		status int
		reason string
	}{
		`{"realm":`:   {400, "invalid UTF-8 JSON"},
		`{"realm":7}`: {400, "of the shape that is wanted"},
		`{"realm":"` + strings.Repeat("x", 1<<20) + `"}`:                                                            {413, "too large"},
		`{"realm":"` + w.centre.Tables.Identity.Realm() + `","node":"` + node + `","session":"x","predecessor":""}`: {400, "The session is none"},
	} {
		if status, answer := w.post("/sync/_hello", c.Key, "secret", body); status != want.status || !strings.Contains(answer, want.reason) {
			t.Errorf("_hello %.60s = %d %s, want %d %s", body, status, answer, want.status, want.reason)
		}
	}
}

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
	if err := s.Laptop.MayJoin(); err != nil {
		t.Errorf("MayJoin = %v, want it empty still", err)
	}
}
