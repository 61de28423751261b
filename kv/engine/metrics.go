package engine

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the engine's figures.
type metrics struct {
	registerer prometheus.Registerer
	collectors []prometheus.Collector
	writable   prometheus.Gauge
	commits    prometheus.Histogram
	group      prometheus.Histogram
}

func newMetrics(db *DB, reg prometheus.Registerer) *metrics {
	m := &metrics{
		registerer: reg,
		writable:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "doorward_store_writable", Help: "1 while the store takes writes, 0 once it has stopped."}),
		commits:    prometheus.NewHistogram(prometheus.HistogramOpts{Name: "doorward_store_commit_seconds", Help: "Time to make one group durable.", Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 12)}),
		group:      prometheus.NewHistogram(prometheus.HistogramOpts{Name: "doorward_store_group_jobs", Help: "Operations committed together.", Buckets: prometheus.ExponentialBuckets(1, 2, 10)}),
	}
	m.writable.Set(1)
	size := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_store_file_bytes", Help: "Size of the store's file."}, func() float64 {
		return float64(db.Size())
	})
	m.collectors = append([]prometheus.Collector{m.writable, m.commits, m.group, size}, db.room.gauges()...)
	if reg != nil {
		reg.MustRegister(m.collectors...)
	}
	return m
}

func (m *metrics) committed(jobs int, took time.Duration) {
	m.commits.Observe(took.Seconds())
	m.group.Observe(float64(jobs))
}

// unregister lets another file of the same process take the names.
func (m *metrics) unregister() {
	if m.registerer == nil {
		return
	}
	for _, c := range m.collectors {
		m.registerer.Unregister(c)
	}
}

// gauges are the disk's figures.
func (r *room) gauges() []prometheus.Collector {
	all := []prometheus.Collector{prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "doorward_store_disk_free_bytes", Help: "Room on the disk that the store lies on; NaN where the system does not say.",
	}, func() float64 {
		free, err := r.free()
		if err != nil {
			return math.NaN()
		}
		return float64(free)
	})}
	for u := range numUses {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "doorward_store_disk_refused", Help: "1 while a use of the disk is refused because it is nearly full.", ConstLabels: prometheus.Labels{"use": useNames[u]},
		}, func() float64 {
			if r.check(u) != nil {
				return 1
			}
			return 0
		}))
	}
	return all
}
