package venue_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/sync/peertest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// linkBytes is how many bytes a second a link of 20 Mbit/s carries each way.
const linkBytes = 20_000_000 / 8

// sellMany fills the centre's event with tickets.
func (w *town) sellMany(n int) {
	w.Helper()
	kvtest.Fill(w, w.centre, record.Ticket, n, func(i int) string {
		return fmt.Sprintf(`{"event_id":%d,"code":%q,"type":"Adult","holder_name":"Ana Souza %06d","email":"ana.%06d@example.org",`+
			`"phone":"+55 11 98888-%04d","order":"P-%05d"}`, w.event, benchCode(i), i, i, i%10000, i/4)
	})
}

// benchCode is the code of a ticket, which nobody could guess or compress.
func benchCode(i int) string {
	n := uint64(i+1) * 0x9E3779B97F4A7C15
	return fmt.Sprintf("K%015X", n>>4)
}

// benchEvent joins an empty laptop, over a link of 20 Mbit/s, to a centre with an event, and waits until all of it is there.
func benchEvent(t *testing.T) []peertest.Line {
	took := func(tickets int) float64 {
		w := newTown(t)
		w.sellMany(tickets)
		w.url = shaped(t, w.url)
		defer peertest.Profile(t, fmt.Sprintf("event of %d", tickets))()
		began := time.Now()
		w.join()
		for _, sort := range []scopes.Sort{scopes.Event, scopes.EventNames} {
			w.reaches(w.laptop, sort, tickets)
		}
		return time.Since(began).Seconds()
	}
	return []peertest.Line{
		{Name: "an event of 5,000 tickets to an empty laptop, at 20 Mbit/s", Unit: "s", Ours: took(5_000), Wanted: peertest.Bound{Most: 2}},
		{Name: "an event of 50,000 tickets, the same", Unit: "s", Ours: took(50_000), Wanted: peertest.Bound{Most: 15}},
	}
}

// reaches waits until a store has so many documents of the event.
func (w *town) reaches(s *kv.Store, sort scopes.Sort, documents int) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 3*time.Minute)
	defer cancel()
	db, err := s.Docs.Database(auth.Operator(), scopes.Scope{Sort: sort, ID: w.event}.String())
	for err == nil {
		var info docs.DatabaseInfo
		if info, err = db.Info(); err == nil && info.Docs >= documents {
			return
		}
		if err == nil {
			err = db.Await(ctx, info.Seq)
		}
	}
	w.Fatal(err)
}

// shaped is a link to a server that carries so much and no more, whatever the number of connections.
func shaped(t testing.TB, address string) string {
	t.Helper()
	var up, down lane // shared by all connections
	return linked(t, address, up.carry, down.carry)
}

// lane is one way of a link. What is sent waits for what was sent before it.
type lane struct {
	mu    sync.Mutex
	until time.Time // what has been let go is under way
}

// carry carries what one end sends to the other, until either is closed.
func (l *lane) carry(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }() // nothing more is to come
	b := make([]byte, 16<<10)
	for {
		n, err := from.Read(b)
		<-time.After(time.Until(l.takes(n)))
		if err == nil {
			_, err = to.Write(b[:n])
		}
		if err != nil {
			return
		}
	}
}

// takes lets go of n bytes and answers when they have passed.
func (l *lane) takes(n int) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.until.Before(now) {
		l.until = now
	}
	l.until = l.until.Add(time.Duration(n) * time.Second / linkBytes)
	return l.until
}

// benchScans lets a laptop scan 46,000 tickets without a link, and counts what its way back costs.
func benchScans(t *testing.T) []peertest.Line {
	const scans = 46_000
	w := newTown(t)
	w.sellMany(scans)
	var requests atomic.Int64
	w.url = watched(t, w.url, func(*http.Request) { requests.Add(1) })
	w.enrol(w.laptop)
	_, leave := w.follow(w.laptop)
	w.reaches(w.laptop, scopes.Event, scans)
	leave()
	w.scanAll(0, scans)
	requests.Store(0)
	defer peertest.Profile(t, "scans")()
	began := time.Now()
	_, leave = w.follow(w.laptop)
	defer leave()
	w.reaches(w.centre, scopes.Event, 2*scans)
	took := time.Since(began)
	return []peertest.Line{
		{Name: "requests that bring up 46,000 scans", Unit: "", Ours: float64(requests.Load()), Wanted: peertest.Bound{Most: 50}},
		{Name: "scans brought up, after the link healed", Unit: "/s", Ours: scans / took.Seconds(), Wanted: peertest.Bound{Least: 10_000 / 30.}},
	}
}

// watched is a server that hands on each request, and shows it.
func watched(t testing.TB, address string, show func(*http.Request)) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(u)
	proxy.FlushInterval = -1
	proxy.ErrorLog = log.New(io.Discard, "", 0) // a laptop that leaves breaks off
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		show(r)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.CloseClientConnections)
	return s.URL
}

// TestBench measures laptops and their centre the same way.
func TestBench(t *testing.T) {
	peertest.Bench(t, []peertest.Part{{Name: "event", Run: benchEvent}, {Name: "scans", Run: benchScans}, {Name: "venues", Run: benchVenues}})
}

// benchVenues joins 30 laptops to a centre. What they cost while nothing happens is measured of this whole process, which is the
// centre and all laptops; and then how long a change at the centre takes to one of them, without the others, whose disks would
// be one here.
func benchVenues(t *testing.T) []peertest.Line {
	const venues, idle, changes = 30, 20 * time.Second, 200
	w := newTown(t)
	first := w.sell(w.centre, "first")
	w.join()
	w.arrives(w.laptop, first)
	var leaves []func()
	for range venues - 1 {
		laptop := kvtest.Open(t)
		w.enrol(laptop)
		_, leave := w.follow(laptop)
		leaves = append(leaves, leave)
		w.arrives(laptop, first)
	}
	busy := cpuSeconds(t)
	<-time.After(idle)
	busy = cpuSeconds(t) - busy
	for _, leave := range leaves {
		leave()
	}
	var took []float64
	for i := range changes {
		began := time.Now()
		w.arrives(w.laptop, w.sell(w.centre, "late "+benchCode(i)))
		took = append(took, float64(time.Since(began).Milliseconds()))
	}
	slices.Sort(took)
	return []peertest.Line{
		{Name: "30 venues connected and idle, of a core, theirs included", Unit: "%", Ours: 100 * busy / idle.Seconds(), Wanted: peertest.Bound{Most: 5}},
		{Name: "a change is at a connected venue, median", Unit: "ms", Ours: took[changes/2]},
		{Name: "the same, p99", Unit: "ms", Ours: took[changes*99/100], Wanted: peertest.Bound{Most: 500}},
	}
}

// cpuSeconds is how long this process has computed.
func cpuSeconds(t testing.TB) float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.GetName() == "process_cpu_seconds_total" {
			return m.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Skip("this system does not tell how long a process has computed")
	return 0
}
