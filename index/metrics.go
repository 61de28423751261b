package index

import (
	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/desk"
)

// metrics are the index's own figures.
type metrics struct {
	registerer prometheus.Registerer
	collectors []prometheus.Collector
	rebuilds   prometheus.Counter
	success    prometheus.Gauge
	queries    *prometheus.HistogramVec
}

func newMetrics(x *Index, reg prometheus.Registerer) *metrics {
	m := &metrics{
		registerer: reg,
		rebuilds:   prometheus.NewCounter(prometheus.CounterOpts{Name: "doorward_index_rebuilds_total", Help: "Number of times the search index was built from the start."}),
		success:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "doorward_index_last_success_timestamp_seconds", Help: "Unix time at which the search index last had all changes of the log."}),
		queries:    prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "doorward_index_query_seconds", Help: "Time the search index takes to name the candidates of a search.", Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 10)}, []string{"mode"}),
	}
	documents := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_index_documents", Help: "Number of records in the search index."}, func() float64 { return float64(x.Status().Documents) })
	lag := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_index_lag_changes", Help: "Number of changes in the log that the search index has not read yet."}, func() float64 { return float64(x.Status().Lag) })
	paused := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_index_paused", Help: "1 while the search index does not follow the log because the disk is nearly full."}, func() float64 {
		if f := x.shown(); f != nil && f.paused.Load() {
			return 1
		}
		return 0
	})
	for _, mode := range []string{"exact", "fuzzy", "ranked"} {
		m.queries.WithLabelValues(mode)
	}
	m.collectors = []prometheus.Collector{m.rebuilds, m.success, m.queries, documents, lag, paused}
	if reg != nil {
		reg.MustRegister(m.collectors...)
	}
	return m
}

// unregister lets another index of the same process take the names.
func (m *metrics) unregister() {
	if m.registerer == nil {
		return
	}
	for _, c := range m.collectors {
		m.registerer.Unregister(c)
	}
}

// mode is the class that a search is counted in.
func mode(w desk.Wanted) string {
	if w.Ranked != nil {
		return "ranked"
	}
	if w.Search != nil {
		for _, p := range w.Search.Parts() {
			if p.Forgiving {
				return "fuzzy"
			}
		}
	}
	return "exact"
}
