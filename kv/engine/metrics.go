package engine

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/disk"
)

// metrics are the engine's figures.
type metrics struct {
	registerer prometheus.Registerer
	collectors []prometheus.Collector
	commits    prometheus.Histogram
	group      prometheus.Histogram
	append     prometheus.Histogram
	sync       prometheus.Histogram
	fold       prometheus.Histogram
	foldBytes  prometheus.Counter
	spread     prometheus.Histogram
	spreadRows prometheus.Counter
}

func newMetrics(db *DB, reg prometheus.Registerer) *metrics {
	m := &metrics{
		registerer: reg,
		commits:    prometheus.NewHistogram(prometheus.HistogramOpts{Name: "doorward_store_commit_seconds", Help: "Time to make one group durable.", Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 12)}),
		group:      prometheus.NewHistogram(prometheus.HistogramOpts{Name: "doorward_store_group_jobs", Help: "Operations committed together.", Buckets: prometheus.ExponentialBuckets(1, 2, 10)}),
	}
	m.log()
	writable := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_store_writable", Help: "1 while the store takes writes, 0 once it has stopped, or stops at the next write."}, func() float64 {
		if errors.Is(db.Writable(), ErrStopped) {
			return 0
		}
		return 1
	})
	size := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_store_file_bytes", Help: "Size of the store's file."}, func() float64 {
		return float64(disk.Size(db.path))
	})
	m.collectors = append([]prometheus.Collector{writable, m.commits, m.group, size, m.append, m.sync, m.fold, m.foldBytes, m.spread, m.spreadRows}, db.room.Collectors()...)
	m.collectors = append(m.collectors, backlog(db)...)
	if reg != nil {
		reg.MustRegister(m.collectors...)
	}
	return m
}

// log makes the figures of the log and of its folds.
func (m *metrics) log() {
	seconds, long := prometheus.ExponentialBuckets(0.00005, 2.5, 12), prometheus.ExponentialBuckets(0.001, 2.5, 12)
	m.append = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "doorward_store_log_append_seconds", Help: "Time to write one record of the log, before its sync.", Buckets: seconds})
	m.sync = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "doorward_store_log_sync_seconds", Help: "Time to sync one record of the log.", Buckets: seconds})
	m.fold = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "doorward_store_fold_seconds", Help: "Time to fold what is in the log into the store's file.", Buckets: long})
	m.foldBytes = prometheus.NewCounter(prometheus.CounterOpts{Name: "doorward_store_fold_bytes_total", Help: "Bytes of rows that were folded into the store's file."})
	m.spread = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "doorward_store_spread_seconds", Help: "Time to write the rows that folds have gathered to their places in the store's file.", Buckets: long})
	m.spreadRows = prometheus.NewCounter(prometheus.CounterOpts{Name: "doorward_store_spread_rows_total", Help: "Rows that were gathered by folds, and written to their places in the store's file."})
}

// backlog are the gauges of what is in the log and not in the file.
func backlog(db *DB) []prometheus.Collector {
	gauge := func(name, help string, of func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(of()) })
	}
	return []prometheus.Collector{
		gauge("doorward_store_unfolded_rows", "Rows that are in the log and not folded into the store's file yet.", func() int { return db.Figures().Rows }),
		gauge("doorward_store_unfolded_bytes", "Memory of the rows that are not folded yet.", func() int { return db.Figures().Bytes }),
		gauge("doorward_store_unfolded_records", "Records of the log that are not folded yet.", func() int { return db.Figures().Records }),
		gauge("doorward_store_log_segments", "Files of the log, those that are spare too.", func() int { return db.Figures().Segments }),
	}
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
