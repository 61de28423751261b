package inbox

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/disk"
	"doorward/kv/entry"
	"doorward/kv/idempotency"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// Box shows staff what is to be decided, and applies what they choose.
type Box struct {
	tables   *table.Set
	standing table.Standing
}

// New makes the box of a store.
func New(t *table.Set, standing table.Standing) *Box { return &Box{tables: t, standing: standing} }

// Item names one thing that staff have to decide: a conflict or a refusal (record.Conflict, record.Refusal).
type Item struct {
	Kind *record.Kind
	ID   record.ID
}

// List lists what p has to decide, oldest first: conflicts about records that p sees, and refusals of documents of the databases
// of p's churches and events. The conditions are on text fields. It returns *Forbidden.
func (bx *Box) List(p auth.Principal, k *record.Kind, q desk.Part) (page desk.PageOf[entry.Reply], err error) {
	if err := p.CheckKind(record.Admin, k, "GET"); err != nil {
		return page, err
	}
	err = bx.tables.View(func(v *table.View) error {
		for _, id := range table.IDsOf(v, k) {
			st, d, err := find(v, p, Item{k, id})
			if err != nil {
				return err
			}
			if st == nil || !fulfils(d, q.Where) {
				continue
			}
			if page.Count++; page.Count <= q.Offset || len(page.Items) >= q.Limit {
				continue
			}
			r, err := entry.MakeReply(v, record.Admin, k, st)
			if err != nil {
				return err
			}
			page.Items = append(page.Items, r)
		}
		return nil
	})
	return page, err
}

// Find reads one item. It returns ErrNotFound or *Forbidden.
func (bx *Box) Find(p auth.Principal, it Item) (r entry.Reply, err error) {
	if err := p.CheckKind(record.Admin, it.Kind, "GET"); err != nil {
		return r, err
	}
	err = bx.tables.View(func(v *table.View) error {
		st, _, err := find(v, p, it)
		if err != nil || st == nil {
			return table.OrNotFound(err)
		}
		r, err = entry.MakeReply(v, record.Admin, it.Kind, st)
		return err
	})
	return r, err
}

// MayResolve returns nil if p may decide an item, as far as the list shows. It returns ErrNotFound or *Forbidden if not.
func (bx *Box) MayResolve(p auth.Principal, it Item) error {
	if err := p.CheckKind(record.Admin, it.Kind, "POST"); err != nil {
		return err
	}
	return bx.tables.View(func(v *table.View) error {
		st, _, err := find(v, p, it)
		if err == nil && st == nil {
			err = table.ErrNotFound
		}
		return err
	})
}

// Resolve is the function Resolve in an operation of its own, done only once for an Idempotency-Key: replayed tells that it was done before.
// It returns *Forbidden if p may resolve no items.
func (bx *Box) Resolve(p auth.Principal, it Item, c Choice) (replayed bool, err error) {
	if err := p.CheckKind(record.Admin, it.Kind, "POST"); err != nil {
		return false, err
	}
	if err := bx.tables.Folder.Room.Check(disk.Creates); err != nil {
		return false, err
	}
	err = bx.tables.Do(bx.standing.By(p, func(o *table.Tx) error {
		r, err := idempotency.Once(o, c.Once, func() (entry.Reply, error) { return entry.Reply{ID: it.ID}, Resolve(o, p, it, c) })
		replayed = r.Replayed
		return err
	}))
	return replayed, err
}

// fulfils tells whether a record holds what conditions on its texts ask for.
func fulfils(d *record.Doc, where []desk.Where) bool {
	for _, w := range where {
		if !slices.Contains(w.In, any(d.Text(w.Field))) {
			return false
		}
	}
	return true
}

// find loads an item. It returns nil if p does not see it.
func find(v *table.View, p auth.Principal, it Item) (*table.Stored, *record.Doc, error) {
	st, d, err := v.LoadDoc(it.Kind, it.ID)
	if err != nil || st == nil {
		return nil, nil, err
	}
	sees := seesConflict
	if it.Kind == record.Refusal {
		sees = seesRefusal
	}
	if ok, err := sees(v, p, d); err != nil || !ok {
		return nil, nil, err
	}
	return st, d, nil
}

// seesConflict reports whether p sees the record that a conflict is about and, if that record was merged, the record that stays.
func seesConflict(v *table.View, p auth.Principal, d *record.Doc) (bool, error) {
	if p.IsWhole() {
		return true, nil
	}
	k, id, _ := table.ListedRecord(record.Conflict, d)
	if ok, err := seesListed(v, p, k, id); err != nil || !ok || d.Text("field") != "" || d.IsNull("winner") {
		return ok, err
	}
	k, id, ok := record.ParseDocID(d.Text("winner"))
	if !ok {
		return false, nil // a newer version has written it
	}
	return seesListed(v, p, k, id)
}

// seesListed reports whether p sees a record that an item is about. A record that is deleted is seen where it was.
func seesListed(v *table.View, p auth.Principal, k *record.Kind, id record.ID) (bool, error) {
	if k == nil || k.Home == "" { // a record without a home is changed at denomination level
		return false, nil
	}
	st, err := v.LoadAny(k, id)
	if err != nil || st == nil {
		return false, err
	}
	if k == record.Membership {
		return entry.HoldsChurch(v, p, st.Home(k)) // one that is deleted names no group
	}
	return entry.Sees(v, p, k, st)
}

// seesRefusal tells whether a document was refused in a database of p's.
func seesRefusal(v *table.View, p auth.Principal, d *record.Doc) (bool, error) {
	if p.IsWhole() {
		return true, nil
	}
	scope, _ := scopes.Parse(d.Text("db")) // zero for a free database
	switch {
	case scope.Sort == scopes.Church, scope.Sort == scopes.ChurchFinance:
		return entry.HoldsChurch(v, p, scope.ID)
	case scope.ID != 0:
		return entry.SeesEvent(v, p, scope.ID)
	}
	return false, nil
}

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
	var now *table.KindLists // of a View: the lists of a commit that is not durable are ahead of what table.EachListed reads
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
	err = table.EachListed(g.store, k, func(_ *table.View, _ *table.Stored, d *record.Doc) error {
		c.n[classOf(d)]++
		return nil
	})
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
	for _, r := range refusalReasons {
		classes = append(classes, r.class)
	}
	return slices.Compact(classes)
}
