package door

import "github.com/prometheus/client_golang/prometheus"

// decisions counts the check-in decisions by outcome.
type decisions struct{ *prometheus.CounterVec }

func newDecisions() decisions {
	d := decisions{prometheus.NewCounterVec(prometheus.CounterOpts{Name: "doorward_checkins_total", Help: "Check-in decisions by outcome, on every surface."}, []string{"outcome"})}
	for _, o := range Outcomes() {
		d.WithLabelValues(string(o))
	}
	return d
}

// count counts a decision; the same answer again is none.
func (c decisions) count(d Decision) {
	if !d.Replayed {
		c.WithLabelValues(string(d.Outcome)).Inc()
	}
}
