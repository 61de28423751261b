package inbox

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// Box shows staff what is to be decided, and applies what they choose.
type Box struct{ tables *table.Set }

func New(t *table.Set) *Box { return &Box{tables: t} }

// MatterQuery is a page of what staff have to decide: conflicts or refusals (record.Conflict, record.Refusal).
type MatterQuery struct {
	Kind          *record.Kind
	Where         []desk.Where // on text fields, all of which must hold
	Offset, Limit int
}

// MatterPage is what Matters returns.
type MatterPage struct {
	Count   int // of all pages
	Replies []entry.Reply
}

// Matters lists what p has to decide, oldest first: conflicts about records that p sees, and refusals of documents of the databases
// of p's churches and events. It returns *Forbidden.
func (bx *Box) Matters(p auth.Principal, q MatterQuery) (page MatterPage, err error) {
	if err := p.CheckKind(record.Admin, q.Kind, "GET"); err != nil {
		return page, err
	}
	err = bx.tables.View(func(v *table.View) error {
		ids := v.Lists.Kind(q.Kind).All
		for _, id := range ids.Page(nil, 0, ids.Len()) {
			st, d, err := matter(v, p, q.Kind, id)
			if err != nil {
				return err
			}
			if st == nil || !fulfils(d, q.Where) {
				continue
			}
			if page.Count++; page.Count <= q.Offset || len(page.Replies) >= q.Limit {
				continue
			}
			r, err := entry.ReplyOf(v, record.Admin, q.Kind, st)
			if err != nil {
				return err
			}
			page.Replies = append(page.Replies, r)
		}
		return nil
	})
	return page, err
}

// Matter reads one conflict or refusal. It returns ErrNotFound or *Forbidden.
func (bx *Box) Matter(p auth.Principal, k *record.Kind, id record.ID) (r entry.Reply, err error) {
	if err := p.CheckKind(record.Admin, k, "GET"); err != nil {
		return r, err
	}
	err = bx.tables.View(func(v *table.View) error {
		st, _, err := matter(v, p, k, id)
		if err != nil || st == nil {
			return keys.OrNotFound(err)
		}
		r, err = entry.ReplyOf(v, record.Admin, k, st)
		return err
	})
	return r, err
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

// matter loads a conflict or a refusal; nil where p does not see it.
func matter(v *table.View, p auth.Principal, k *record.Kind, id record.ID) (*table.Stored, *record.Doc, error) {
	st, err := v.Load(k, id)
	if err != nil || st == nil {
		return nil, nil, err
	}
	d, err := st.Decode(k)
	if err != nil {
		return nil, nil, err
	}
	sees := func(p auth.Principal, d *record.Doc) (bool, error) { return seesConflict(v, p, d) }
	if k == record.Refusal {
		sees = func(p auth.Principal, d *record.Doc) (bool, error) { return seesRefusal(v, p, d) }
	}
	if ok, err := sees(p, d); err != nil || !ok {
		return nil, nil, err
	}
	return st, d, nil
}

// seesConflict tells whether p sees the record that a conflict is about; one that is deleted is seen where it was.
func seesConflict(v *table.View, p auth.Principal, d *record.Doc) (bool, error) {
	if p.IsWhole() {
		return true, nil
	}
	k, id, _ := table.ListedRecord(record.Conflict, d)
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
	scope, ok := scopes.Parse(d.Text("db"))
	switch {
	case !ok:
		return false, nil
	case scope.Sort == scopes.Church, scope.Sort == scopes.ChurchFinance:
		return entry.HoldsChurch(v, p, scope.ID)
	case scope.ID != 0:
		return entry.SeesEvent(v, p, scope.ID)
	}
	return false, nil
}

// SeesMatter returns nil if p may decide a conflict or a refusal, as far as the list shows. It returns ErrNotFound or
// *Forbidden if not.
func (bx *Box) SeesMatter(p auth.Principal, k *record.Kind, id record.ID) error {
	if err := p.CheckKind(record.Admin, k, "POST"); err != nil {
		return err
	}
	return bx.tables.View(func(v *table.View) error {
		st, _, err := matter(v, p, k, id)
		if err == nil && st == nil {
			err = table.ErrNotFound
		}
		return err
	})
}

// mattersGauge counts conflicts by kind and refusals by reason. It counts again when one has been added or removed.
type mattersGauge struct {
	store               *table.Set
	conflicts, refusals *prometheus.Desc

	mu     sync.Mutex
	counts map[*record.Kind]*matterCount
}

// matterCount is what a version of a kind's lists was counted as.
type matterCount struct {
	of *table.KindLists
	n  map[string]int
}

func NewMattersGauge(s *table.Set) *mattersGauge {
	return &mattersGauge{
		store: s, counts: map[*record.Kind]*matterCount{},
		conflicts: prometheus.NewDesc("doorward_conflicts", "Conflicts that staff have to look at, by the kind of the record.", []string{"kind"}, nil),
		refusals:  prometheus.NewDesc("doorward_refusals", "Refused documents that staff have to look at, by reason.", []string{"reason"}, nil),
	}
}

// Describe sends the descriptions of both gauges.
func (g *mattersGauge) Describe(ch chan<- *prometheus.Desc) {
	ch <- g.conflicts
	ch <- g.refusals
}

// Collect counts.
func (g *mattersGauge) Collect(ch chan<- prometheus.Metric) {
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

func (g *mattersGauge) count(k *record.Kind, classOf func(*record.Doc) string) (map[string]int, error) {
	now := g.store.Current().Kind(k)
	if last := g.counts[k]; last != nil && last.of == now {
		return last.n, nil
	}
	c := &matterCount{of: now, n: map[string]int{}}
	err := EachListed(g.store, k, func(_ *table.Stored, d *record.Doc) { c.n[classOf(d)]++ })
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

// EachListed calls fn with all conflicts or all refusals.
func EachListed(s *table.Set, listed *record.Kind, fn func(*table.Stored, *record.Doc)) error {
	return s.EachRow(table.KindBucket(listed), nil, func(v *table.View, key, row []byte) error {
		id, _ := listed.KeyID(key) // its length is right
		st, err := table.ListedRow(v, listed, id, row)
		if err != nil || st == nil {
			return err
		}
		d, err := st.Decode(listed)
		if err == nil {
			fn(st, d)
		}
		return err
	})
}
