package inbox

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/record"
	"doorward/kv/table"
)

// gauge counts conflicts by kind and refusals by reason. It counts again when one has been added or removed.
type gauge struct {
	store               *table.Set
	conflicts, refusals *prometheus.Desc

	mu     sync.Mutex
	counts map[*record.Kind]*itemCount
}

// itemCount is the count of a kind's items, and the version of the lists that it was made of.
type itemCount struct {
	of *table.KindLists
	n  map[string]int
}

// NewGauge makes the gauges of a store.
func NewGauge(s *table.Set) *gauge {
	return &gauge{
		store: s, counts: map[*record.Kind]*itemCount{},
		conflicts: prometheus.NewDesc("doorward_conflicts", "Conflicts that staff have to look at, by the kind of the record.", []string{"kind"}, nil),
		refusals:  prometheus.NewDesc("doorward_refusals", "Refused documents that staff have to look at, by reason.", []string{"reason"}, nil),
	}
}

// Describe sends the descriptions of both gauges.
func (g *gauge) Describe(ch chan<- *prometheus.Desc) {
	ch <- g.conflicts
	ch <- g.refusals
}

// Collect counts.
func (g *gauge) Collect(ch chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	send := func(desc *prometheus.Desc, k *record.Kind, classes []string, classOf func(*record.Doc) string) {
		counts, err := g.count(k, classOf)
		if err != nil {
			ch <- prometheus.NewInvalidMetric(desc, err)
			return
		}
		for _, class := range classes {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(counts[class]), class)
		}
	}
	var kinds []string
	for _, k := range record.Kinds() {
		if !k.Fact {
			kinds = append(kinds, k.Name)
		}
	}
	send(g.conflicts, record.Conflict, append(kinds, unknownKind), func(d *record.Doc) string {
		if k, ok := record.ByName(d.Text("kind")); ok && !k.Fact {
			return k.Name
		}
		return unknownKind
	})
	send(g.refusals, record.Refusal, refusalClasses(), func(d *record.Doc) string { return refusalClass(d.Text("reason")) })
}

// unknownKind is the label of what a newer version has written.
const unknownKind = "unknown"

func (g *gauge) count(k *record.Kind, classOf func(*record.Doc) string) (map[string]int, error) {
	var now *table.KindLists // of a View: the lists of a commit that is not durable are ahead of what EachListed reads
	err := g.store.View(func(v *table.View) error {
		now = v.Lists.Kind(k)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if last := g.counts[k]; last != nil && last.of == now {
		return last.n, nil
	}
	c := &itemCount{of: now, n: map[string]int{}}
	err = EachListed(g.store, k, func(_ *table.Stored, d *record.Doc) { c.n[classOf(d)]++ })
	if err == nil {
		g.counts[k] = c
	}
	return c.n, err
}

// refusalReasons are the classes of refusals by words of their reasons; what has none of these is other.
var refusalReasons = []struct{ words, class string }{
	{"needs ", "permission"}, {"no key may do this", "permission"}, {"the key may not write this kind", "permission"}, {"of this level", "permission"},
	{"has moved", "moved"}, {"another database", "scope"}, {"would belong", "scope"}, {"level or class", "scope"},
	{"a fact has one revision", "fact"}, {"facts of its own", "fact"}, {"only a laptop", "fact"},
	{"somebody else has changed", "changed"}, {"was deleted", "deleted"}, {"could delete", "deleted"}, {"leased", "id"},
	{"not valid", "invalid"}, {"may set", "invalid"}, {"derived field", "invalid"}, {"too large", "invalid"},
}

const otherReason = "other"

func refusalClass(reason string) string {
	for _, r := range refusalReasons {
		if strings.Contains(reason, r.words) {
			return r.class
		}
	}
	return otherReason
}

func refusalClasses() []string {
	classes := []string{otherReason}
	for i, r := range refusalReasons {
		if i == 0 || refusalReasons[i-1].class != r.class {
			classes = append(classes, r.class)
		}
	}
	return classes
}
