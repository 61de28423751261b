package kv

import (
	"errors"
	"slices"
	"sort"

	"doorward/kv/record"
	"doorward/kv/search"
)

// Query is a page of a kind. Results stand in id order, those of a ranked search the best first and then by id.
type Query struct {
	Surface       record.Surface
	Kind          *record.Kind
	Where         []Where // all must hold; each field is Indexed, or "updated_at"
	Search        *search.Terms
	Ranked        *search.Ranked // instead of Search; the best thousand are found, and counted
	Finder        Finder         // is asked where to look; nil = everywhere
	Offset, Limit int
	Head          func(dst []byte, count int) []byte // writes what stands before the results; nil = nothing
	Into          []byte                             // memory to build the page on; may be nil
}

// Page is what a list returns.
type Page struct {
	Count   int    // all matches
	Results []byte // what Head wrote, and the page's records: a JSON array
	IDs     []record.ID
}

// List reads a page. A church, regional or other referred record that the principal cannot see counts as unknown:
// fault.ByField with "Select a valid choice…" under the field's name. ErrIndexing while a search's Finder is not ready and there
// is too much to look at without it.
func (s *Store) List(p Principal, q Query) (page Page, err error) {
	if err := p.CheckKind(q.Surface, q.Kind, "GET"); err != nil {
		return Page{}, err
	}
	for try := 0; ; try++ {
		a, err := s.ask(p, q, try)
		if err != nil {
			return Page{}, err
		}
		page, err = s.list(p, q, a)
		if errors.Is(err, errIndexAhead) {
			s.search.doubt(err)
		}
		if !errors.Is(err, errAskAgain) {
			s.noteReads(p, q.Kind, len(page.IDs))
			return page, err
		}
	}
}

func (s *Store) list(p Principal, q Query, a *asked) (page Page, err error) {
	err = s.view(func(v *sight) error {
		v.reader = p
		if err := checkChoices(v, p, q); err != nil {
			return err
		}
		matches, err := match(v, p, q, a)
		if err != nil {
			return err
		}
		page.Count, page.IDs = matches.count(), matches.page(q.Offset, q.Limit)
		dst := slices.Grow(q.Into[:0], 1024+len(page.IDs)*pageRow)
		if q.Head != nil {
			dst = q.Head(dst, page.Count)
		}
		page.Results, err = showAll(v, dst, q, page.IDs)
		return err
	})
	return page, err
}

// pageRow is about what a record takes in a page.
const pageRow = 1536

func showAll(v *sight, dst []byte, q Query, ids []record.ID) ([]byte, error) {
	v.page = q.Kind.NewPage()
	dst = append(dst, '[')
	err := v.each(q.Kind, ids, func(st *stored) (err error) {
		if st.id != ids[0] {
			dst = append(dst, ',')
		}
		dst, err = show(v, dst, q.Surface, q.Kind, st)
		return err
	})
	return append(dst, ']'), err
}

// matches are the ids that a query finds: either whole lists, which need no walk, or ids one by one.
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
func match(v *sight, p Principal, q Query, a *asked) (*matches, error) {
	m, err := matchWhere(v, p, q, a)
	if err != nil {
		return nil, err
	}
	if q.Ranked != nil {
		return m, rank(v, q, m, a)
	}
	return m, sift(v, p, q, m)
}

// matchWhere finds what fulfils a query's conditions, as far as its Finder has named it.
func matchWhere(v *sight, p Principal, q Query, a *asked) (*matches, error) {
	m := &matches{kind: q.Kind}
	h, err := matchHome(v, p, q, m)
	if err != nil {
		return nil, err
	}
	if err := narrow(v, a, h, m); err != nil {
		return nil, err
	}
	for _, w := range h.rest {
		ids, err := where(v, q.Kind, w, m)
		if err != nil {
			return nil, err
		}
		m.keep(ids)
	}
	if a.tooMany(m.count()) {
		return nil, ErrIndexing
	}
	return m, nil
}

// keep leaves of the matches those that are among ascending ids, which it may change.
func (m *matches) keep(ids []record.ID) {
	m.ids = slices.DeleteFunc(ids, func(id record.ID) bool { return !m.contains(id) })
	m.exact = true
}

// contains tells whether an id is among the matches so far.
func (m *matches) contains(id record.ID) bool {
	if m.exact {
		_, found := slices.BinarySearchFunc(m.ids, id, record.ID.Compare)
		return found
	}
	return slices.ContainsFunc(m.lists, func(l *idList) bool { return l.contains(id) })
}
