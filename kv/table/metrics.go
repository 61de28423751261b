package table

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/record"
)

func DamagedGauge(s *Set) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_store_damaged_values", Help: "Values that the store found damaged when it was opened, and serves to nobody."}, func() float64 {
		return float64(s.damaged)
	})
}

func SeqGauge(s *Set) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_store_sequence", Help: "Sequence of the latest change."}, func() float64 {
		return float64(s.seq.Load())
	})
}

func RecordsGauge(s *Set, k *record.Kind) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "doorward_store_records", Help: "Live records by kind.", ConstLabels: prometheus.Labels{"kind": k.Name},
	}, func() float64 { return float64(s.Live(k)) })
}

func ClockGauges(s *Set) []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_clock_doubted", Help: "1 while the machine's clock is not believed."}, func() float64 {
			return float64(Flag(s.Clock().Doubt != ""))
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_clock_offset_seconds", Help: "How far a peer's clock was ahead when last measured; NaN before."}, func() float64 {
			if c := s.Clock(); !c.Measured.IsZero() {
				return c.Offset.Seconds()
			}
			return math.NaN()
		}),
	}
}
