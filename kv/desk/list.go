package desk

import (
	"errors"
	"slices"
	"sort"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/search"
	"doorward/kv/table"
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
func (dk *Desk) List(p auth.Principal, q Query) (page Page, err error) {
	if err := p.CheckKind(q.Surface, q.Kind, "GET"); err != nil {
		return Page{}, err
	}
	for try := 0; ; try++ {
		a, err := dk.ask(p, q, try)
		if err != nil {
			return Page{}, err
		}
		page, err = dk.list(p, q, a)
		if errors.Is(err, ErrIndexAhead) {
			dk.Search.Doubt(err)
		}
		if !errors.Is(err, ErrAskAgain) {
			dk.tables.Reads.Note(p, q.Kind, len(page.IDs))
			return page, err
		}
	}
}

func (dk *Desk) list(p auth.Principal, q Query, a *Asked) (page Page, err error) {
	err = dk.tables.View(func(v *table.View) error {
		v.Reader = p
		if err := CheckChoices(v, p, q); err != nil {
			return err
		}
		matches, err := Match(v, p, q, a)
		if err != nil {
			return err
		}
		page.Count, page.IDs = matches.Count(), matches.page(q.Offset, q.Limit)
		dst := slices.Grow(q.Into[:0], 1024+len(page.IDs)*pageRow)
		if q.Head != nil {
			dst = q.Head(dst, page.Count)
		}
		page.Results, err = ShowAll(v, dst, q, page.IDs)
		return err
	})
	return page, err
}

// pageRow is about what a record takes in a page.
const pageRow = 1536

func ShowAll(v *table.View, dst []byte, q Query, ids []record.ID) ([]byte, error) {
	v.Page = record.NewPage(q.Kind)
	dst = append(dst, '[')
	err := v.Each(q.Kind, ids, func(st *table.Stored) (err error) {
		if st.ID != ids[0] {
			dst = append(dst, ',')
		}
		dst, err = entry.Show(v, dst, q.Surface, q.Kind, st)
		return err
	})
	return append(dst, ']'), err
}

// Matches are the ids that a query finds: either whole lists, which need no walk, or ids one by one.
type Matches struct {
	Kind  *record.Kind
	Lists []*table.IdList // disjoint
	ids   []record.ID
	Exact bool // ids count, not lists
}

func (m *Matches) Count() int {
	if m.Exact {
		return len(m.ids)
	}
	n := 0
	for _, l := range m.Lists {
		n += l.Len()
	}
	return n
}

func (m *Matches) page(offset, limit int) []record.ID {
	n := m.Count()
	if limit <= 0 || offset >= n {
		return nil
	}
	switch {
	case m.Exact:
		return slices.Clone(m.ids[offset:min(n, offset+limit)])
	case len(m.Lists) == 1:
		return m.Lists[0].Page(make([]record.ID, 0, min(limit, n-offset)), offset, limit)
	}
	start := m.nth(offset)
	var ids []record.ID
	for _, l := range m.Lists {
		ids = l.Page(ids, l.Rank(start), limit)
	}
	slices.SortFunc(ids, record.ID.Compare)
	return ids[:min(limit, len(ids))]
}

// nth is the id at a place of the merged lists: the largest id with at most that many before it.
func (m *Matches) nth(offset int) record.ID {
	before := func(id record.ID) (n int) {
		for _, l := range m.Lists {
			n += l.Rank(id)
		}
		return n
	}
	for _, l := range m.Lists {
		// The wanted id is in one of the lists: in each, the last one with at most offset ids before it is a candidate.
		i := sort.Search(l.Len(), func(i int) bool { return before(l.At(i)) > offset })
		if i > 0 && before(l.At(i-1)) == offset {
			return l.At(i - 1)
		}
	}
	return record.ID{}
}

// Everything turns lists into ids.
func (m *Matches) Everything() []record.ID {
	if m.Exact {
		return m.ids
	}
	ids := make([]record.ID, 0, m.Count())
	for _, l := range m.Lists {
		ids = l.Page(ids, 0, l.Len())
	}
	if len(m.Lists) > 1 {
		slices.SortFunc(ids, record.ID.Compare)
	}
	return ids
}

// Match finds what a query asks for among what p sees.
func Match(v *table.View, p auth.Principal, q Query, a *Asked) (*Matches, error) {
	m, err := MatchWhere(v, p, q, a)
	if err != nil {
		return nil, err
	}
	if q.Ranked != nil {
		return m, rank(v, q, m, a)
	}
	return m, sift(v, p, q, m)
}

// MatchWhere finds what fulfils a query's conditions, as far as its Finder has named it.
func MatchWhere(v *table.View, p auth.Principal, q Query, a *Asked) (*Matches, error) {
	m := &Matches{Kind: q.Kind}
	h, err := matchHome(v, p, q, m)
	if err != nil {
		return nil, err
	}
	if err := Narrow(v, a, h, m); err != nil {
		return nil, err
	}
	for _, w := range h.rest {
		ids, err := where(v, q.Kind, w, m)
		if err != nil {
			return nil, err
		}
		m.keep(ids)
	}
	if a.TooMany(m.Count()) {
		return nil, ErrIndexing
	}
	return m, nil
}

// keep leaves of the matches those that are among ascending ids, which it may change.
func (m *Matches) keep(ids []record.ID) {
	m.ids = slices.DeleteFunc(ids, func(id record.ID) bool { return !m.contains(id) })
	m.Exact = true
}

// contains tells whether an id is among the matches so far.
func (m *Matches) contains(id record.ID) bool {
	if m.Exact {
		_, found := slices.BinarySearchFunc(m.ids, id, record.ID.Compare)
		return found
	}
	return slices.ContainsFunc(m.Lists, func(l *table.IdList) bool { return l.Contains(id) })
}
