package kv

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/record"
)

// metrics are the store's own figures.
type metrics struct {
	registerer prometheus.Registerer
	collectors []prometheus.Collector
	checkins   *prometheus.CounterVec
	fallbacks  prometheus.Counter
}

func newMetrics(s *Store, reg prometheus.Registerer) *metrics {
	m := &metrics{
		registerer: reg,
		checkins:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "doorward_checkins_total", Help: "Check-in decisions by outcome, on every surface."}, []string{"outcome"}),
		fallbacks:  prometheus.NewCounter(prometheus.CounterOpts{Name: "doorward_search_fallbacks_total", Help: "Times a search did without the index, which was not ready or failed."}),
	}
	for _, o := range Outcomes() {
		m.checkins.WithLabelValues(string(o))
	}
	m.collectors = []prometheus.Collector{m.checkins, s.corrupt, m.fallbacks, damagedGauge(s), seqGauge(s), doublesGauge(s), erasuresGauge(s), unfinishedGauge(s), newMattersGauge(s.tables), newUpkeepGauge(s)}
	for _, k := range record.Kinds() {
		m.collectors = append(m.collectors, recordsGauge(s, k))
	}
	m.collectors = append(m.collectors, clockGauges(s)...)
	m.collectors = append(m.collectors, reviewGauges(s)...)
	if reg != nil {
		reg.MustRegister(m.collectors...)
	}
	return m
}

func damagedGauge(s *Store) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_store_damaged_values", Help: "Values that the store found damaged when it was opened, and serves to nobody."}, func() float64 {
		return float64(s.damaged)
	})
}

func seqGauge(s *Store) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_store_sequence", Help: "Sequence of the latest change."}, func() float64 {
		return float64(s.seq.Load())
	})
}

func doublesGauge(s *Store) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_double_entries", Help: "Check-ins listed as double entries, of all events."}, func() float64 {
		return float64(s.doubles.Load())
	})
}

func erasuresGauge(s *Store) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_erasures_uncompacted", Help: "Erased records whose bytes may lie in free pages of the file until it is compacted."}, func() float64 {
		n, _, err := s.ErasuresDue()
		if err != nil {
			return math.NaN()
		}
		return float64(n)
	})
}

func unfinishedGauge(s *Store) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_erasures_unfinished", Help: "Records that are to be erased and could not be: nobody is shown them, and it is tried again."}, func() float64 {
		return float64(s.ErasuresUnfinished())
	})
}

func recordsGauge(s *Store, k *record.Kind) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "doorward_store_records", Help: "Live records by kind.", ConstLabels: prometheus.Labels{"kind": k.Name},
	}, func() float64 { return float64(s.live(k)) })
}

func clockGauges(s *Store) []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_clock_doubted", Help: "1 while the machine's clock is not believed."}, func() float64 {
			return float64(flag(s.Clock().Doubt != ""))
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_clock_offset_seconds", Help: "How far a peer's clock was ahead when last measured; NaN before."}, func() float64 {
			if c := s.Clock(); !c.Measured.IsZero() {
				return c.Offset.Seconds()
			}
			return math.NaN()
		}),
	}
}

// decided counts a decision; the same answer again is none.
func (m *metrics) decided(d Decision) {
	if !d.Replayed {
		m.checkins.WithLabelValues(string(d.Outcome)).Inc()
	}
}

// unregister lets another store of the same process take the names.
func (m *metrics) unregister() {
	if m.registerer == nil {
		return
	}
	for _, c := range m.collectors {
		m.registerer.Unregister(c)
	}
}
