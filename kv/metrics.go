package kv

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/door"
	"doorward/kv/inbox"
	"doorward/kv/table"
)

// metrics are the store's own figures, which are registered and unregistered together.
type metrics struct {
	registerer prometheus.Registerer
	collectors []prometheus.Collector
}

// collectors are the figures of all rooms.
func (s *Store) collectors() []prometheus.Collector {
	all := []prometheus.Collector{s.Door.Decisions, s.Tables.Damage.Corrupt, s.Desk.Search.Fallbacks, inbox.NewGauge(s.Tables), s.Figures.Gauge()}
	return slices.Concat(all, table.Gauges(s.Tables), s.Erasures.Gauges(), door.ReviewGauges(s.Tables))
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
