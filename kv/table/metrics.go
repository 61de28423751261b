package table

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/record"
)

// Gauges are the figures of the tables.
func Gauges(s *Set) (all []prometheus.Collector) {
	gauge := func(name, help string, value func() float64) {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("doorward_store_sequence", "Sequence of the latest change.", func() float64 { return float64(s.Commits.Seq()) })
	gauge("doorward_store_damaged_values", "Values that the store found damaged when it was opened, and serves to nobody.", func() float64 {
		return float64(s.Damage.Found())
	})
	gauge("doorward_double_entries", "Check-ins listed as double entries, of all events.", func() float64 { return float64(s.Lists.Doubles.Load()) })
	gauge("doorward_let_in", "Check-ins of guests whom a phone let in with a ticket that is refused, of all events. They are double entries too.", func() float64 {
		return float64(s.Lists.LetIn.Load())
	})
	gauge("doorward_clock_doubted", "1 while the machine's clock is not believed.", func() float64 { return float64(Flag(s.Clock.Reading().Doubt != "")) })
	gauge("doorward_clock_offset_seconds", "How far a peer's clock was ahead when last measured; NaN before.", func() float64 {
		if c := s.Clock.Reading(); !c.Measured.IsZero() {
			return c.Offset.Seconds()
		}
		return math.NaN()
	})
	for _, k := range record.Kinds() {
		opts := prometheus.GaugeOpts{Name: "doorward_store_records", Help: "Live records by kind.", ConstLabels: prometheus.Labels{"kind": k.Name}}
		all = append(all, prometheus.NewGaugeFunc(opts, func() float64 { return float64(s.Lists.Live(k)) }))
	}
	return all
}
