package kv

import (
	"bytes"
	"slices"
	"sort"
	"strconv"
	"strings"

	"doorward/kv/record"
)

// Query is a page of a kind. Results stand in id order.
type Query struct {
	Surface       record.Surface
	Kind          *record.Kind
	Where         []Where // all must hold; each field is Indexed, or "updated_at"
	Search        *record.Search
	Offset, Limit int
	Head          func(dst []byte, count int) []byte // writes what stands before the results; nil = nothing
	Into          []byte                             // memory to build the page on; may be nil
}

// Where is one condition. Either In is set, or From and To, both inclusive, nil = open.
type Where struct {
	Field    string
	In       []any // int64, bool, string, or nil for null; any of them
	From, To any   // time.Time or int64
}

// Page is what a list answers.
type Page struct {
	Count   int    // all matches
	Results []byte // what Head wrote, and the page's records: a JSON array
	IDs     []record.ID
}

// List reads a page. A church, regional or other referred record that the principal cannot see counts as unknown:
// record.Faults with "Select a valid choice…" under the field's name.
func (s *Store) List(p Principal, q Query) (page Page, err error) {
	if err := p.checkKind(q.Surface, q.Kind, "GET"); err != nil {
		return Page{}, err
	}
	err = s.view(func(v *sight) error {
		v.reader = p
		if err := v.checkChoices(p, q); err != nil {
			return err
		}
		matches, err := v.match(p, q)
		if err != nil {
			return err
		}
		page.Count, page.IDs = matches.count(), matches.page(q.Offset, q.Limit)
		dst := slices.Grow(q.Into[:0], 1024+len(page.IDs)*pageRow)
		if q.Head != nil {
			dst = q.Head(dst, page.Count)
		}
		page.Results, err = v.showAll(dst, q, page.IDs)
		return err
	})
	return page, err
}

// pageRow is about what a record takes in a page.
const pageRow = 1536

func (v *sight) showAll(dst []byte, q Query, ids []record.ID) ([]byte, error) {
	v.page = q.Kind.NewPage()
	dst = append(dst, '[')
	err := v.each(q.Kind, ids, func(st *stored) (err error) {
		if st.id != ids[0] {
			dst = append(dst, ',')
		}
		dst, err = v.show(dst, q.Surface, q.Kind, st)
		return err
	})
	return append(dst, ']'), err
}

// checkChoices refuses filters that name a record which p does not see.
func (v *sight) checkChoices(p Principal, q Query) error {
	var faults record.Faults
	for _, w := range q.Where {
		f, ok := q.Kind.Field(w.Field)
		if !ok {
			continue
		}
		k, ok := record.ByName(refersTo(f))
		if !ok {
			continue
		}
		for _, value := range w.In {
			n, ok := value.(int64)
			if !ok {
				continue
			}
			seen, err := v.choosable(p, k, n)
			if err != nil {
				return err
			}
			if !seen {
				faults.Add(w.Field, record.InvalidChoice(strconv.FormatInt(n, 10)))
			}
		}
	}
	if len(faults) > 0 {
		return faults
	}
	return nil
}

// choosable tells whether a filter may name a record: it is there, and of churches only p's own.
func (v *sight) choosable(p Principal, k *record.Kind, n int64) (bool, error) {
	st, err := v.load(k, record.Int(n))
	if err != nil || st == nil {
		return false, err
	}
	if k == record.Church && p.level.Name != EventOf {
		return v.holdsChurch(p, n)
	}
	return v.sees(p, k, st)
}

// matches are the ids that a query finds: either whole lists, which nobody has to walk, or ids one by one.
type matches struct {
	kind  *record.Kind
	lists []*idList // disjoint
	ids   []record.ID
	exact bool // ids count, not lists
}

func (m *matches) count() int {
	if m.exact {
		return len(m.ids)
	}
	n := 0
	for _, l := range m.lists {
		n += l.len()
	}
	return n
}

func (m *matches) page(offset, limit int) []record.ID {
	n := m.count()
	if limit <= 0 || offset >= n {
		return nil
	}
	switch {
	case m.exact:
		return slices.Clone(m.ids[offset:min(n, offset+limit)])
	case len(m.lists) == 1:
		return m.lists[0].page(make([]record.ID, 0, min(limit, n-offset)), offset, limit)
	}
	start := m.nth(offset)
	var ids []record.ID
	for _, l := range m.lists {
		ids = l.page(ids, l.rank(start), limit)
	}
	slices.SortFunc(ids, record.ID.Compare)
	return ids[:min(limit, len(ids))]
}

// nth is the id at a place of the merged lists: the largest id with at most that many before it.
func (m *matches) nth(offset int) record.ID {
	before := func(id record.ID) (n int) {
		for _, l := range m.lists {
			n += l.rank(id)
		}
		return n
	}
	for _, l := range m.lists {
		// The wanted id is in one of the lists: in each, the last one with at most offset ids before it is a candidate.
		i := sort.Search(l.len(), func(i int) bool { return before(l.at(i)) > offset })
		if i > 0 && before(l.at(i-1)) == offset {
			return l.at(i - 1)
		}
	}
	return record.ID{}
}

// everything turns lists into ids.
func (m *matches) everything() []record.ID {
	if m.exact {
		return m.ids
	}
	ids := make([]record.ID, 0, m.count())
	for _, l := range m.lists {
		ids = l.page(ids, 0, l.len())
	}
	if len(m.lists) > 1 {
		slices.SortFunc(ids, record.ID.Compare)
	}
	return ids
}

// match finds what a query asks for among what p sees.
func (v *sight) match(p Principal, q Query) (*matches, error) {
	m := &matches{kind: q.Kind}
	rest, err := v.matchHome(p, q, m)
	if err != nil {
		return nil, err
	}
	for _, w := range rest {
		ids, err := v.where(q.Kind, w, m)
		if err != nil {
			return nil, err
		}
		ids = slices.DeleteFunc(ids, func(id record.ID) bool { return !m.contains(id) })
		m.ids, m.exact = ids, true
	}
	return m, v.sift(p, q, m)
}

// contains tells whether an id is among the matches so far.
func (m *matches) contains(id record.ID) bool {
	if m.exact {
		_, found := slices.BinarySearchFunc(m.ids, id, record.ID.Compare)
		return found
	}
	return slices.ContainsFunc(m.lists, func(l *idList) bool { return l.contains(id) })
}

// sift keeps the matches that only their bodies can tell: of a search, and memberships by their group.
func (v *sight) sift(p Principal, q Query, m *matches) error {
	searching := q.Search != nil && !q.Search.Empty()
	if !searching && (q.Kind != record.Membership || p.whole()) {
		return nil
	}
	all := m.everything()
	m.ids, m.exact = make([]record.ID, 0, min(len(all), 1024)), true
	return v.each(q.Kind, all, func(st *stored) error {
		if searching && !q.Search.Matches(q.Kind, st.body) {
			return nil
		}
		if q.Kind == record.Membership {
			if ok, err := v.sees(p, q.Kind, st); err != nil || !ok {
				return err
			}
		}
		m.ids = append(m.ids, st.id)
		return nil
	})
}

// where answers the ids that fulfil one condition, sorted.
func (v *sight) where(k *record.Kind, w Where, m *matches) ([]record.ID, error) {
	field := lookupPrefix(make([]byte, 0, 64), k, w.Field)
	if w.In == nil {
		var from, to []byte
		if w.From != nil {
			from = appendValue(bytes.Clone(field), w.From)
		}
		if w.To != nil {
			to = appendValue(bytes.Clone(field), w.To)
		}
		return v.lookupRange(k, field, from, to)
	}
	var ids []record.ID
	for _, value := range w.In {
		found, err := v.holding(k, field, value, m)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	if len(w.In) > 1 {
		slices.SortFunc(ids, record.ID.Compare)
		ids = slices.Compact(ids)
	}
	return ids, nil
}

// holding answers the ids that hold one value. What holds none has no row: null is everything but what has one.
func (v *sight) holding(k *record.Kind, field []byte, value any, m *matches) ([]record.ID, error) {
	if text, ok := value.(string); ok && strings.IndexByte(text, 0) >= 0 {
		return nil, nil // no stored text has one; in a key it would end the value
	}
	if value != nil {
		return v.lookupRange(k, appendValue(bytes.Clone(field), value), nil, nil)
	}
	some, err := v.lookupRange(k, field, nil, nil)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(m.everything()), func(id record.ID) bool {
		_, found := slices.BinarySearchFunc(some, id, record.ID.Compare)
		return found
	}), nil
}
