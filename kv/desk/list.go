package desk

import (
	"bytes"
	"slices"
	"sort"
	"strconv"
	"strings"

	"doorward/kv/access"
	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/search"
	"doorward/kv/table"
	"doorward/kv/value"
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
		if !dk.Search.Again(err) {
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
		page.Results, err = showAll(v, dst, q, page.IDs)
		return err
	})
	return page, err
}

// pageRow is about what a record takes in a page.
const pageRow = 1536

func showAll(v *table.View, dst []byte, q Query, ids []record.ID) ([]byte, error) {
	v.Page = record.NewPage(q.Kind)
	dst = append(dst, '[')
	err := v.Each(q.Kind, ids, func(st *table.Stored) (err error) {
		dst, err = entry.Show(v, value.AppendComma(dst), q.Surface, q.Kind, st)
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
func matchWhere(v *table.View, p auth.Principal, q Query, a *Asked) (*Matches, error) {
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

// Where is one condition. Either In is set, or From and To, both inclusive, nil = open.
type Where struct {
	Field    string
	In       []any // int64, bool, string, or nil for null; any of them
	From, To any   // time.Time or int64
}

// Part is the part of a list that is asked for. With a Limit of 0 the list is only counted.
type Part struct {
	Where         []Where // all must hold
	Offset, Limit int
}

// PageOf is what a list has in a part.
type PageOf[T any] struct {
	Count int // of all parts
	Items []T
}

// CheckChoices refuses filters that name a record which p does not see.
func CheckChoices(v *table.View, p auth.Principal, q Query) error {
	var faults fault.ByField
	for _, w := range q.Where {
		f, ok := q.Kind.Field(w.Field)
		if !ok {
			continue
		}
		k, ok := record.ByName(table.RefersTo(f))
		if !ok {
			continue
		}
		for _, value := range w.In {
			n, ok := value.(int64)
			if !ok {
				continue
			}
			seen, err := choosable(v, p, k, n)
			if err != nil {
				return err
			}
			if !seen {
				faults.Add(w.Field, fault.InvalidChoice(strconv.FormatInt(n, 10)))
			}
		}
	}
	return faults.Err()
}

// choosable tells whether a filter may name a record: it is there, and of churches only p's own.
func choosable(v *table.View, p auth.Principal, k *record.Kind, n int64) (bool, error) {
	st, err := v.Load(k, record.Int(n))
	if err != nil || st == nil {
		return false, err
	}
	if k == record.Church && !p.IsOf(auth.EventOf) {
		return entry.HoldsChurch(v, p, n)
	}
	return entry.Sees(v, p, k, st)
}

// where answers the ids that fulfil one condition, sorted.
func where(v *table.View, k *record.Kind, w Where, m *Matches) ([]record.ID, error) {
	field := table.LookupPrefix(make([]byte, 0, 64), k, w.Field)
	if w.In == nil {
		var from, to []byte
		if w.From != nil {
			from = table.AppendValue(bytes.Clone(field), w.From)
		}
		if w.To != nil {
			to = table.AppendValue(bytes.Clone(field), w.To)
		}
		return table.LookupRange(v, k, field, from, to)
	}
	var ids []record.ID
	for _, value := range w.In {
		found, err := holding(v, k, field, value, m)
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
func holding(v *table.View, k *record.Kind, field []byte, value any, m *Matches) ([]record.ID, error) {
	if text, ok := value.(string); ok && strings.IndexByte(text, 0) >= 0 {
		return nil, nil // no stored text has one; in a key it would end the value
	}
	if value != nil {
		return table.LookupRange(v, k, table.AppendValue(bytes.Clone(field), value), nil, nil)
	}
	some, err := table.LookupRange(v, k, field, nil, nil)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(m.Everything()), func(id record.ID) bool {
		_, found := slices.BinarySearchFunc(some, id, record.ID.Compare)
		return found
	}), nil
}

// Scope says which churches or events a query covers, 0 for records without one, or that it covers all.
type Scope struct {
	Homes []int64
	All   bool
	rest  []Where // the other conditions
}

// within tells whether all that the scope covers is among some homes.
func (h Scope) within(all bool, homes []int64) bool {
	return all || !h.All && !slices.ContainsFunc(h.Homes, func(home int64) bool { return !slices.Contains(homes, home) })
}

// ScopeOf returns what p sees of a kind, narrowed by the query's condition on the home field.
func ScopeOf(v *table.View, p auth.Principal, q Query) (h Scope, err error) {
	if h.Homes, h.All, err = homes(v, p, q.Kind); err != nil {
		return h, err
	}
	for _, w := range q.Where {
		if w.Field != homeField(q.Kind) || w.In == nil {
			h.rest = append(h.rest, w)
			continue
		}
		named := homesNamed(w)
		if h.All {
			h.Homes, h.All = named, false
		} else {
			h.Homes = slices.DeleteFunc(h.Homes, func(h int64) bool { return !slices.Contains(named, h) })
		}
	}
	return h, nil
}

// matchHome sets the lists that hold what p sees of a kind.
func matchHome(v *table.View, p auth.Principal, q Query, m *Matches) (Scope, error) {
	h, err := ScopeOf(v, p, q)
	if err != nil {
		return h, err
	}
	lists := v.Lists.Kind(q.Kind)
	switch {
	case h.All && lists.Unsure:
		return h, table.ErrUnsure(q.Kind)
	case h.All:
		m.Lists = []*table.IdList{lists.All}
	case q.Kind == record.Event && p.IsOf(auth.EventOf):
		m.ids, m.Exact = ownEvents(v, p, q), true
	case lists.Doubtful:
		return h, table.ErrDoubtful(q.Kind)
	default:
		for _, home := range h.Homes {
			if l := lists.Home.Of(home); l.Len() > 0 {
				m.Lists = append(m.Lists, l)
			}
		}
	}
	return h, nil
}

// homeField is the field that a kind's lists by home are named by; "" where the home is another record's.
func homeField(k *record.Kind) string {
	if k == record.Membership {
		return ""
	}
	return k.Home
}

// homesNamed are the homes that a condition names, 0 for null.
func homesNamed(w Where) []int64 {
	var homes []int64
	for _, value := range w.In {
		n, _ := value.(int64) // null is 0
		if !slices.Contains(homes, n) {
			homes = append(homes, n)
		}
	}
	return homes
}

// homes returns the churches or events of the records of a kind that p sees, 0 for records without one. all tells that p sees
// all records.
func homes(v *table.View, p auth.Principal, k *record.Kind) (homes []int64, all bool, err error) {
	reads := func(t access.Tie) bool { return access.MayAtDesk(p, access.Read, k, t) }
	switch {
	case reads(access.Foreign):
		return nil, true, nil
	case !reads(access.Own), p.IsOf(auth.EventOf) && k == record.Event: // its own events belong to churches that it does not see
		return nil, false, nil
	case p.IsOf(auth.EventOf):
		return slices.Clone(p.Level().IDs), false, nil
	}
	churches, err := churches(v, p)
	if err != nil {
		return nil, false, err
	}
	own := slices.Clone(churches)
	if reads(access.Churchless) {
		own = append([]int64{0}, own...)
	}
	if k.Class != record.Events {
		return own, false, nil
	}
	events := v.Lists.Kind(record.Event).Home
	for _, church := range own {
		for _, id := range events.Of(church).Page(nil, 0, events.Of(church).Len()) {
			homes = append(homes, id.Int())
		}
	}
	return homes, false, nil
}

// ownEvents are the events that an event key names, as far as they are there and in the churches asked for.
func ownEvents(v *table.View, p auth.Principal, q Query) []record.ID {
	lists := v.Lists.Kind(record.Event)
	var ids []record.ID
	for _, n := range p.Level().IDs {
		id := record.Int(n)
		ok := lists.All.Contains(id)
		for _, w := range q.Where {
			if w.Field == "church_id" {
				ok = ok && slices.ContainsFunc(homesNamed(w), func(h int64) bool { return lists.Home.Of(h).Contains(id) })
			}
		}
		if ok {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, record.ID.Compare)
	return ids
}

// IDs are all live records of a kind, ascending, as of the latest commit that is durable: the lists of one that is not yet are ahead of
// what Retrieve and the log show. It is for denomination level.
func (dk *Desk) IDs(p auth.Principal, k *record.Kind) (ids []record.ID, err error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	err = dk.tables.View(func(v *table.View) error {
		ids = table.IDsOf(v, k)
		return nil
	})
	return ids, err
}

// Scannable tells whether every search can do without its index: neither all people nor the tickets of an event are too many to
// look at. A store that cannot be read is not scannable.
func (dk *Desk) Scannable() (is bool) {
	err := dk.tables.View(func(v *table.View) error {
		is = v.Lists.Kind(record.Person).All.Len() <= dk.Search.limit
		for _, event := range v.Lists.Kind(record.Ticket).Home {
			is = is && event.Ids.Len() <= dk.Search.limit
		}
		return nil
	})
	return is && err == nil
}
