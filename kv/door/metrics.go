package door

import (
	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/table"
)

func DoublesGauge(s *table.Set) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_double_entries", Help: "Check-ins listed as double entries, of all events."}, func() float64 {
		return float64(s.Doubles.Load())
	})
}
