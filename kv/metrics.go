package kv

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/record"
)

// metrics are the store's own figures, which are registered and unregistered together.
type metrics struct {
	registerer prometheus.Registerer
	collectors []prometheus.Collector
}

// collectors are the figures of all rooms.
func (s *Store) collectors() []prometheus.Collector {
	all := []prometheus.Collector{s.decisions, s.corrupt, s.search.fallbacks, damagedGauge(s.tables), seqGauge(s.tables), doublesGauge(s.tables),
		erasuresGauge(s.ErasuresDue), unfinishedGauge(s.ErasuresUnfinished), newMattersGauge(s.tables), newUpkeepGauge(s.tables, s.KeyExpiry)}
	for _, k := range record.Kinds() {
		all = append(all, recordsGauge(s.tables, k))
	}
	all = append(all, clockGauges(s.tables)...)
	return append(all, reviewGauges(s.tables)...)
}

func newMetrics(reg prometheus.Registerer, all []prometheus.Collector) *metrics {
	if reg != nil {
		reg.MustRegister(all...)
	}
	return &metrics{registerer: reg, collectors: all}
}

func damagedGauge(s *tables) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_store_damaged_values", Help: "Values that the store found damaged when it was opened, and serves to nobody."}, func() float64 {
		return float64(s.damaged)
	})
}

func seqGauge(s *tables) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_store_sequence", Help: "Sequence of the latest change."}, func() float64 {
		return float64(s.seq.Load())
	})
}

func doublesGauge(s *tables) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_double_entries", Help: "Check-ins listed as double entries, of all events."}, func() float64 {
		return float64(s.doubles.Load())
	})
}

func erasuresGauge(due func() (n int, since time.Time, err error)) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_erasures_uncompacted", Help: "Erased records whose bytes may lie in free pages of the file until it is compacted."}, func() float64 {
		n, _, err := due()
		if err != nil {
			return math.NaN()
		}
		return float64(n)
	})
}

func unfinishedGauge(unfinished func() int) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_erasures_unfinished", Help: "Records that are to be erased and could not be: nobody is shown them, and it is tried again."}, func() float64 {
		return float64(unfinished())
	})
}

func recordsGauge(s *tables, k *record.Kind) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "doorward_store_records", Help: "Live records by kind.", ConstLabels: prometheus.Labels{"kind": k.Name},
	}, func() float64 { return float64(s.live(k)) })
}

func clockGauges(s *tables) []prometheus.Collector {
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

// unregister lets another store of the same process take the names.
func (m *metrics) unregister() {
	if m.registerer == nil {
		return
	}
	for _, c := range m.collectors {
		m.registerer.Unregister(c)
	}
}
