package engine

import (
	"time"

	"doorward/kv/disk"

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
		return float64(disk.Size(db.path))
	})
	m.collectors = append([]prometheus.Collector{m.writable, m.commits, m.group, size}, db.room.Collectors()...)
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
