package kv

import (
	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/door"
	"doorward/kv/inbox"
	"doorward/kv/record"
	"doorward/kv/table"
)

// metrics are the store's own figures, which are registered and unregistered together.
type metrics struct {
	registerer prometheus.Registerer
	collectors []prometheus.Collector
}

// collectors are the figures of all rooms.
func (s *Store) collectors() []prometheus.Collector {
	all := []prometheus.Collector{s.Door.Decisions, s.Tables.Damage.Corrupt, s.Desk.Search.Fallbacks, table.DamagedGauge(s.Tables), table.SeqGauge(s.Tables), door.DoublesGauge(s.Tables),
		inbox.NewGauge(s.Tables), s.Figures.Gauge()}
	for _, k := range record.Kinds() {
		all = append(all, table.RecordsGauge(s.Tables, k))
	}
	all = append(all, s.Erasures.Gauges()...)
	all = append(all, table.ClockGauges(s.Tables)...)
	return append(all, door.ReviewGauges(s.Tables)...)
}

func newMetrics(reg prometheus.Registerer, all []prometheus.Collector) *metrics {
	if reg != nil {
		reg.MustRegister(all...)
	}
	return &metrics{registerer: reg, collectors: all}
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
