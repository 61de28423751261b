package venue_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/sync"
	"doorward/sync/venue"
)

// hurried is an answer that asks to be left alone for a second at most.
type hurried struct{ http.ResponseWriter }

func (h hurried) WriteHeader(status int) {
	if h.Header().Get("Retry-After") != "" {
		h.Header().Set("Retry-After", "1")
	}
	h.ResponseWriter.WriteHeader(status)
}

func (h hurried) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// disks is a town in which the room on the disks is what a test says.
type disks struct {
	*town
	*venue.Venue
	registry       *prometheus.Registry
	leave          func()
	centre, laptop atomic.Int64 // bytes that are free
}

func newDisks(t *testing.T) *disks {
	d := &disks{town: &town{TB: t, log: make(lines, 1000)}}
	d.centre.Store(1 << 30)
	d.laptop.Store(1 << 30)
	d.town.centre = kvtest.OpenConfig(t, kv.Config{Free: func() (int64, error) { return d.centre.Load(), nil }})
	d.town.laptop = kvtest.OpenConfig(t, kv.Config{Free: func() (int64, error) { return d.laptop.Load(), nil }})
	d.event = kvtest.Create(t, d.town.centre, record.Event, `{"name":"Sunday","start_datetime":"2030-01-01T19:00:00Z"}`)
	server, err := sync.New(sync.Config{Store: d.town.centre, Version: "test", OverAfter: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { server.ServeHTTP(hurried{w}, r) }))
	t.Cleanup(func() {
		server.Close()
		srv.Close()
	})
	d.url = srv.URL
	d.enrol(d.town.laptop)
	d.follows()
	for _, code := range []string{"first", "second"} {
		d.arrives(d.town.laptop, d.sell(d.town.centre, code))
	}
	return d
}

// follows keeps the laptop in step until it leaves.
func (d *disks) follows() {
	d.registry = prometheus.NewRegistry()
	d.Venue, d.leave = d.followAs(venue.Config{Store: d.town.laptop, Registerer: d.registry})
	d.Cleanup(d.leave)
}

// full tells what the laptop shows of its centre's disk.
func (d *disks) full(want float64) {
	d.Helper()
	if is := gauged(d, d.registry, "doorward_peer_disk_full"); is != want {
		d.Errorf("doorward_peer_disk_full = %v, want %v", is, want)
	}
}

// TestALaptopWaitsForItsCentresDisk: it says once why, gets what is made there, brings its check-ins for as long as they are taken,
// and all the rest once there is room, without being told.
func TestALaptopWaitsForItsCentresDisk(t *testing.T) {
	t.Parallel()
	d := newDisks(t)
	w, left := d.town, &d.centre
	d.full(0)
	left.Store(16 << 20) // check-ins alone
	sold := w.sell(w.laptop, "sold here")
	w.tells("the centre's disk is nearly full")
	d.full(1)
	w.scan(w.centre, "first")
	w.admits(w.laptop, 1)
	w.scan(w.laptop, "second")
	w.admits(w.centre, 2)
	d.shakesHands()
	d.full(1)
	if said := w.said(); said != "" {
		t.Errorf("meanwhile the log says %s", said)
	}

	left.Store(1) // nothing at all
	late := w.sell(w.laptop, "sold late")
	w.scan(w.laptop, "sold late")
	d.Wake() // it shakes hands, which is refused too
	w.tells("the centre's disk is nearly full")
	left.Store(1 << 30)
	w.tells("in step with the centre")
	w.arrives(w.centre, sold)
	w.arrives(w.centre, late)
	w.admits(w.centre, 3)
	w.await(w.centre, scopes.EventNames, "all names", func(info docs.DatabaseInfo) bool { return info.Docs == 4 })
	d.full(0)
}

// TestALaptopWithAFullDiskBringsItsCheckIns: what it cannot take waits at the centre, and keeps nothing here from going there.
func TestALaptopWithAFullDiskBringsItsCheckIns(t *testing.T) {
	t.Parallel()
	d := newDisks(t)
	w, left := d.town, &d.laptop
	left.Store(16 << 20) // check-ins alone
	w.sell(w.centre, "sold late")
	w.scan(w.laptop, "first")
	w.admits(w.centre, 1)
	w.scan(w.centre, "second")
	w.admits(w.laptop, 2)
	if said := w.said(); said != "" {
		t.Errorf("the log says of the link %s", said)
	}
	left.Store(1 << 30)
	w.await(w.laptop, scopes.EventNames, "the name", func(info docs.DatabaseInfo) bool { return info.Docs == 3 })
}

// shakesHands has the laptop shake hands once more, and waits until it has done what follows: two of them, as one begins where
// another has ended.
func (d *disks) shakesHands() {
	d.Helper()
	contact := func() float64 { return gauged(d, d.registry, "doorward_peer_last_contact_timestamp_seconds") }
	for range 2 {
		before := contact()
		d.Wake()
		for late := time.Now().Add(20 * time.Second); contact() == before; time.Sleep(time.Millisecond) {
			if time.Now().After(late) {
				d.Fatal("the laptop shakes hands no more")
			}
		}
	}
}

// gauged is a gauge's value, of which there is one alone.
func gauged(t testing.TB, r prometheus.Gatherer, name string) float64 {
	t.Helper()
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.GetName() == name && len(m.GetMetric()) == 1 {
			return m.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is not one %s", name)
	return 0
}
