package venue_test

import (
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"doorward/kv/scopes"
	"doorward/sync/venue"

	"github.com/prometheus/client_golang/prometheus"
)

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

// linked is a link to a server. up and down carry what one end of a connection sends to the other.
func linked(t testing.TB, address string, up, down func(to, from net.Conn)) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // those who dial are told
	server := u.Host
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				_ = near.Close() // as a link that is down
				continue
			}
			go up(far, near)
			go down(near, far)
		}
	}()
	u.Host = l.Addr().String()
	return u.String()
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
