package venue_test

import (
	"slices"
	"testing"
	"time"

	"doorward/kv/kvtest"
	"doorward/sync/peertest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

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
