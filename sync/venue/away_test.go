package venue_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	gosync "sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/sync/dial"
	"doorward/sync/handshake"
	"doorward/sync/venue"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// away is a link to a centre that is not reached. It notes when that was tried.
type away struct {
	answers func() (*http.Response, error)
	tries   []time.Time
}

func (l *away) RoundTrip(*http.Request) (*http.Response, error) {
	l.tries = append(l.tries, time.Now())
	return l.answers()
}

// linkDown is a link on which nothing goes.
func linkDown() (*http.Response, error) { return nil, errLink }

// answers is a server that always says the same.
func answers(status int, headers ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("no"))}
		for i := 0; i < len(headers); i += 2 {
			resp.Header.Set(headers[i], headers[i+1])
		}
		return resp, nil
	}
}

// greets is a centre that shakes hands, and then does the same with every other request. It notes when it has shaken hands.
type greets struct {
	greeting handshake.Greeting
	then     func() (*http.Response, error)
	times    []time.Time
}

func (l *greets) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/_hello") {
		return l.then()
	}
	l.times = append(l.times, time.Now())
	l.greeting.Now = time.Now()
	b, err := json.Marshal(l.greeting)
	body := io.NopCloser(bytes.NewReader(b))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{dial.HeaderNode: {l.greeting.Node}}, Body: body}, err
}

// restless is a centre that exchanges other databases at each handshake, and says at once that it has other keys.
type restless struct{ greets }

func (l *restless) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(100 * time.Millisecond)
	switch isHello := strings.HasSuffix(r.URL.Path, "/_hello"); {
	case isHello && r.Method == http.MethodPost:
		l.greeting.Databases[0].Push = !l.greeting.Databases[0].Push
		return l.greets.RoundTrip(r)
	case isHello:
		body := io.NopCloser(strings.NewReader(`{"keys":"others"}`))
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{dial.HeaderNode: {l.greeting.Node}}, Body: body}, nil
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// triesFor is when a laptop tries its centre within five minutes, of an event that begins after a while and lasts for two hours.
func triesFor(t *testing.T, begins time.Duration, scans bool, tried *away) (gaps []time.Duration) {
	t.Helper()
	laptop := kvtest.Open(t)
	at := time.Now().Add(begins).UTC()
	event := kvtest.Create(t, laptop, record.Event, fmt.Sprintf(`{"name":"Feast","start_datetime":%q,"end_datetime":%q}`,
		at.Format(time.RFC3339), at.Add(2*time.Hour).Format(time.RFC3339)))
	kvtest.Create(t, laptop, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"first","holder_name":"Ana Souza"}`, event))
	joins(t, laptop, ulid.Make().String())
	if scans {
		if _, err := laptop.Door.CheckIn(auth.Operator(), door.Attempt{Event: event, Code: "first"}); err != nil {
			t.Fatal(err)
		}
	}
	runsOver(t, laptop, tried)
	return between(tried.tries)
}

// joins has a laptop join a centre that is known by its node alone.
func joins(t *testing.T, laptop *kv.Store, node string) {
	t.Helper()
	centre := table.Upstream{URL: "http://centre", Insecure: true, Node: node, Key: "k", Secret: "s"}
	if err := laptop.Laptop.Join(auth.Operator(), centre, office.Credential{Realm: laptop.Tables.Identity.Realm()}); err != nil {
		t.Fatal(err)
	}
}

// runsOver keeps a laptop in step over a link for five minutes.
func runsOver(t *testing.T, laptop *kv.Store, link http.RoundTripper) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	client := dial.NewClient(dial.Anywhere)
	client.Transport = link
	if err := venue.RunOver(ctx, venue.Config{Store: laptop}, client); err != nil {
		t.Fatal(err)
	}
}

// TestALaptopTriesItsCentreEverySecondDuringAnEvent: doors wait for what the centre knows. Otherwise the pauses grow. No two laptops
// try at the same time for ever.
func TestALaptopTriesItsCentreEverySecondDuringAnEvent(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for _, c := range []struct {
		name    string
		begins  time.Duration
		scans   bool
		answers func() (*http.Response, error)
		often   bool
	}{
		{"while it is held", -hour, false, linkDown, true},
		{"while the doors open", 2 * hour, false, linkDown, true},
		{"shortly after its end", -4 * hour, false, linkDown, true},
		{"while people are let in, a day too early", 24 * hour, true, linkDown, true},
		{"with a centre that is starting", -hour, false, answers(503, "Retry-After", "5"), true},
		{"with a gateway whose centre is not there", -hour, false, answers(502), true},
		{"with a portal in the place of the centre", -hour, false, answers(302, "Location", "https://portal.example/"), true},
		{"a week before", 7 * 24 * hour, false, linkDown, false},
		{"a day after", -26 * hour, false, linkDown, false},
		{"with a centre that wants to be left alone", -hour, false, answers(429, "Retry-After", "12"), false},
		{"with a portal that asks for a login", -hour, false, answers(401), true},
		{"with a portal that forbids", -hour, false, answers(403, "Retry-After", "60"), true},
		{"with a proxy that wants a password", -hour, false, func() (*http.Response, error) { return nil, &dial.ProxyError{Host: "proxy", Status: 407} }, true},
		{"with a centre that refuses", -hour, false, answers(403, dial.HeaderNode, "01J00000000000000000000000"), false},
		{"with a centre that does not know the key", -hour, false, answers(401, dial.HeaderNode, "01J00000000000000000000000"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gaps := triesFor(t, c.begins, c.scans, &away{answers: c.answers})
				longest, shortest := slices.Max(gaps), slices.Min(gaps)
				switch {
				case c.often && (longest > time.Second || len(gaps) < 300):
					t.Errorf("%d tries, up to %v apart, want one each second", len(gaps), longest)
				case c.often && (longest-shortest < 100*time.Millisecond || shortest < 200*time.Millisecond):
					t.Errorf("tries are %v to %v apart, want that to differ, and no hurry", shortest, longest)
				case !c.often && longest < 5*time.Second:
					t.Errorf("tries are up to %v apart, want pauses that grow", longest)
				}
			})
		})
	}
}

// TestVisitsThatDoNothingGrowRarer: a centre that shakes hands and fails at once after that is asked less and less often. One that is lost after the link
// held for a while is asked again at once.
func TestVisitsThatDoNothingGrowRarer(t *testing.T) {
	t.Parallel()
	const held = 20 * time.Second
	for _, c := range []struct {
		name string
		then func() (*http.Response, error)
		most int           // visits in five minutes
		last time.Duration // between the last two, at most; 0 = any
	}{
		{"a centre that fails at once", answers(500), 40, 0},
		{"a link that breaks at once", linkDown, 40, 0},
		{"a link that held", func() (*http.Response, error) { time.Sleep(held); return linkDown() }, 16, held + time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				laptop := kvtest.Open(t)
				event := kvtest.Create(t, laptop, record.Event, `{"name":"Feast","start_datetime":"2030-01-01T19:00:00Z"}`)
				db := handshake.Database{Name: scopes.Scope{Sort: scopes.Event, ID: event}.String(), Push: true, Pull: true}
				centre := &greets{then: c.then, greeting: handshake.Greeting{Node: ulid.Make().String(), Epoch: ulid.Make().String(), Databases: []handshake.Database{db}}}
				joins(t, laptop, centre.greeting.Node)
				runsOver(t, laptop, centre)
				gaps := between(centre.times)
				if len(gaps) < 10 || len(gaps) > c.most {
					t.Errorf("%d visits in five minutes, want at most %d: %v", len(gaps), c.most, gaps)
				}
				if last := gaps[len(gaps)-1]; c.last > 0 && last > c.last {
					t.Errorf("the laptop comes back after %v, want %v at most", last, c.last)
				}
			})
		})
	}
}

// TestACentreThatAlwaysHasMoreIsAskedLessOften: it is asked again at once a few times, and then after longer and longer pauses.
func TestACentreThatAlwaysHasMoreIsAskedLessOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		laptop := kvtest.Open(t)
		event := kvtest.Create(t, laptop, record.Event, `{"name":"Feast","start_datetime":"2030-01-01T19:00:00Z"}`)
		db := handshake.Database{Name: scopes.Scope{Sort: scopes.Event, ID: event}.String(), Push: true, Pull: true}
		centre := &restless{greets{greeting: handshake.Greeting{Node: ulid.Make().String(), Epoch: ulid.Make().String(), Databases: []handshake.Database{db}, KeyMark: "some"}}}
		joins(t, laptop, centre.greeting.Node)
		runsOver(t, laptop, centre)
		gaps := between(centre.times) // a visit has two handshakes
		if len(gaps) < 40 || len(gaps) > 90 {
			t.Errorf("%d handshakes in five minutes, want at most 90: %v", len(gaps)+1, gaps)
		}
		if first := slices.Max(gaps[:6]); first > time.Second {
			t.Errorf("the first visits are up to %v apart: a centre that has more is asked at once", first)
		}
	})
}

// scanAll has the laptop admit n tickets of sellMany.
func (w *town) scanAll(from, n int) {
	w.Helper()
	gate := kvtest.Login(w, w.laptop, fmt.Sprintf("event:%d", w.event), "*:*")
	attempts := make([]door.Attempt, n)
	for i := range attempts {
		attempts[i] = door.Attempt{Event: w.event, Code: benchCode(from + i)}
	}
	judged, err := w.laptop.Door.CheckInAll(gate, attempts)
	if err != nil {
		w.Fatal(err)
	}
	for i := range judged {
		if judged[i].Outcome != outcome.Admitted {
			w.Fatalf("scan %d = %+v", i, judged[i])
		}
	}
}

// tally counts requests by what they ask, of one database or of none.
type tally struct {
	mu     gosync.Mutex
	db     string
	asked  map[string]int
	chunks int // bodies that come without a length: the connection ends with each
}

func (c *tally) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.chunks = map[string]int{}, 0
}

func (c *tally) count(r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.ContentLength < 0 {
		c.chunks++
	}
	what, ok := strings.CutPrefix(r.URL.Path, "/sync/"+c.db+"/")
	if what, _, _ = strings.Cut(what, "/"); ok {
		c.asked[r.Method+" "+what]++
	}
}

// TestABacklogGoesUpInFewRequests: neither each scan nor each answer costs one, and what the laptop itself has brought is not read
// back; nor is it while scans trickle.
func TestABacklogGoesUpInFewRequests(t *testing.T) {
	const backlog, trickle = 3000, 12
	w := newTown(t)
	w.sellMany(backlog + trickle)
	c := &tally{db: scopes.Scope{Sort: scopes.Event, ID: w.event}.String()}
	c.begin()
	w.url = watched(t, w.url, c.count)
	w.enrol(w.laptop)
	_, leave := w.follow(w.laptop)
	w.reaches(w.laptop, scopes.Event, backlog+trickle)
	leave()
	w.scanAll(0, backlog)

	c.begin()
	began := time.Now()
	_, leave = w.follow(w.laptop)
	w.reaches(w.centre, scopes.Event, backlog+trickle+backlog)
	c.atMost(t, map[string]int{"POST _revs_diff": 2, "POST _feed": 2})
	for i := range trickle {
		w.scanAll(backlog+i, 1)
		w.reaches(w.centre, scopes.Event, backlog+trickle+backlog+i+1)
	}
	leave()
	seconds := time.Since(began).Seconds()
	c.atMost(t, map[string]int{"GET _feed": 1, "GET _changes": 3 + int(seconds/0.4), "PUT _local": 2 * (2 + int(seconds))})
}

func (c *tally) atMost(t *testing.T, bounds map[string]int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for what, most := range bounds {
		if n := c.asked[what]; n > most {
			t.Errorf("%s: %d times, want at most %d", what, n, most)
		}
	}
	if c.chunks > 0 {
		t.Errorf("%d bodies in chunks, want each with its length", c.chunks)
	}
}

// meter counts what a link carries each way, headers too.
type meter struct{ up, down atomic.Int64 }

// metered is a link to a server that counts.
func metered(t testing.TB, address string) (string, *meter) {
	t.Helper()
	m := &meter{}
	up := func(to, from net.Conn) { m.carry(to, from, &m.up) }
	down := func(to, from net.Conn) { m.carry(to, from, &m.down) }
	return linked(t, address, up, down), m
}

func (m *meter) carry(to, from net.Conn, n *atomic.Int64) {
	defer func() { _, _ = to.Close(), from.Close() }() // nothing more is to come
	_, _ = io.Copy(to, io.TeeReader(from, counter{n})) // until either is closed
}

type counter struct{ n *atomic.Int64 }

func (c counter) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return len(b), nil
}

// inStep waits until nothing of the laptop's is known to be missing at the centre.
func inStep(t testing.TB, r prometheus.Gatherer) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); lagOf(t, r, "push") > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the laptop is %v changes behind for ever", lagOf(t, r, "push"))
		}
	}
}

// TestTheFirstPullSendsLittle: a laptop that is given an event does not ask the centre about each ticket that the centre has just given.
func TestTheFirstPullSendsLittle(t *testing.T) {
	const tickets = 5000
	w := newTown(t)
	w.sellMany(tickets)
	var link *meter
	w.url, link = metered(t, w.url)
	w.enrol(w.laptop)
	registry := prometheus.NewRegistry()
	began := time.Now()
	_, leave := w.followAs(venue.Config{Store: w.laptop, Registerer: registry})
	t.Cleanup(leave)
	for _, sort := range []scopes.Sort{scopes.Event, scopes.EventNames} {
		w.reaches(w.laptop, sort, tickets)
	}
	inStep(t, registry)
	up, down := link.up.Load(), link.down.Load()
	took := time.Since(began)
	t.Logf("%d tickets: %d bytes up, %d down in %v", tickets, up, down, took)
	// Handshakes and checkpoints go up each second. To ask about each ticket would take 300 KB.
	if up -= int64(5000 * took.Seconds()); down < 40*tickets || up > down/20 {
		t.Errorf("%d bytes went up and %d came down, want less than a twentieth", up, down)
	}

	own := w.sell(w.laptop, "walk-in") // is asked about, and comes
	w.arrives(w.centre, own)
	inStep(t, registry)
}
