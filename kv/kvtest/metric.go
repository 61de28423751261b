package kvtest

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the values of a gauge or a counter, by the values of their labels with a space between; "" for none.
func Metrics(t testing.TB, r prometheus.Gatherer, name string) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, pair := range m.GetLabel() {
				labels = append(labels, pair.GetValue())
			}
			values[strings.Join(labels, " ")] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return values
}

// Metric is the value of a gauge or a counter without labels.
func Metric(t testing.TB, r prometheus.Gatherer, name string) float64 {
	t.Helper()
	value, there := Metrics(t, r, name)[""]
	if !there {
		t.Fatalf("no metric %s", name)
	}
	return value
}
