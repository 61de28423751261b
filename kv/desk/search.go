package desk

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/search"
	"doorward/kv/table"
)

// A search asks its Finder outside of any View, for what p saw in a short one, and decides in another View: by the bodies of
// what was named and of everything that has changed since. Where p sees other homes by then it asks again.

const (
	maxRanked = 1000    // matches that are ranked at most
	spareBest = 64      // asked for in addition, because some of the best may change before they are read
	maxAsked  = 3       // how often a Finder is asked before everything is looked at
	ScanLimit = 100_000 // of Config
)

// errAskAgain says that a Finder's candidates are not enough.
var errAskAgain = errors.New("what the index was asked is no longer what is wanted")

// errIndexAhead is the errAskAgain of an index that does not fit the store.
var errIndexAhead = fmt.Errorf("%w: the index says that it is ahead of the store", errAskAgain)

// Searching is what a store needs to search.
type Searching struct {
	limit     int // how many records are looked at without an index
	log       *slog.Logger
	Fallbacks prometheus.Counter
	failed    sync.Once
}

func NewSearching(limit int, log *slog.Logger) *Searching {
	return &Searching{limit: limit, log: log, Fallbacks: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "doorward_search_fallbacks_total", Help: "Times a search did without the index, which was not ready or failed.",
	})}
}

// Asked is what a Finder was asked, and what it returned.
type Asked struct {
	Want  Wanted
	Since uint64      // changes after this one are read as well
	most  int         // records that may be read if the Finder returned nothing; 0 = all
	found *Found      // nil: the Finder returned nothing
	tail  []record.ID // records that have changed since it looked
	right int         // matches that it has named, unchanged since
}

// TooMany tells whether n records are too many to read without the Finder's candidates.
func (a *Asked) TooMany(n int) bool { return a != nil && a.found == nil && a.most > 0 && n > a.most }

// searches tells whether only the bodies of records can decide a query.
func (q *Query) searches() bool {
	return q.Ranked != nil && !q.Ranked.Empty() || q.Ranked == nil && q.Search != nil && !q.Search.Empty()
}

// ask lets a query's Finder name candidates. It returns nil if the query has no Finder or needs none.
func (dk *Desk) ask(p auth.Principal, q Query, try int) (*Asked, error) {
	if q.Finder == nil || !q.searches() || len(q.Kind.Searched) == 0 {
		return nil, nil
	}
	a := &Asked{Want: Wanted{Kind: q.Kind, Ranked: q.Ranked}, Since: math.MaxUint64}
	if q.Ranked == nil {
		a.Want.Search = q.Search
	}
	err := dk.tables.View(func(v *table.View) error {
		h, err := ScopeOf(v, p, q)
		if err != nil {
			return err
		}
		a.Want.All, a.Want.Homes = h.All, h.Homes
		if q.Ranked == nil || len(h.rest) == 0 {
			return nil
		}
		m, err := matchWhere(v, p, q, nil)
		if err != nil {
			return err
		}
		a.Want.Keep = m.contains
		a.Since, err = table.Sequence(v)
		return err
	})
	if err == nil {
		dk.Search.Find(q.Finder, a, maxRanked, try)
	}
	return a, err
}

// Find asks a Finder for the best candidates of a ranked search, the second time for all. It counts each call that fails. It does not
// log that an index is not ready, because that is no failure.
func (s *Searching) Find(f Finder, a *Asked, best, try int) {
	if f == nil {
		return
	}
	a.most = s.limit
	if try >= maxAsked {
		return
	}
	a.Want.Limit = best + spareBest
	if try > 0 {
		a.Want.Limit = math.MaxInt
	}
	found, err := f.Find(a.Want)
	switch {
	case err == nil:
		a.found = &found
	case errors.Is(err, ErrNoIndex):
		s.Fallbacks.Inc()
	default:
		s.doubt(err)
	}
}

// Again tells that a search has to ask its Finder once more, and counts an index that does not fit the store.
func (s *Searching) Again(err error) bool {
	if errors.Is(err, errIndexAhead) {
		s.doubt(err)
	}
	return errors.Is(err, errAskAgain)
}

// doubt counts an index's failure, and logs the first.
func (s *Searching) doubt(err error) {
	s.Fallbacks.Inc()
	s.failed.Do(func() {
		s.log.Warn("the search index has failed: records are looked at instead", slog.Any("cause", err))
	})
}

// Narrow leaves of the matches those that a Finder has named and those that have changed since it looked.
func Narrow(v *table.View, a *Asked, h Scope, m *Matches) error {
	if a == nil || a.found == nil {
		return nil
	}
	if !h.within(a.Want.All, a.Want.Homes) {
		return errAskAgain
	}
	ids, err := candidates(v, a)
	if err != nil {
		return err
	}
	m.keep(ids)
	return nil
}

// candidates are what a Finder has named and what has changed since it looked, ascending.
func candidates(v *table.View, a *Asked) ([]record.ID, error) {
	seq, err := table.Sequence(v)
	if err != nil {
		return nil, err
	}
	if a.found.Upto > seq {
		return nil, errIndexAhead
	}
	tail, err := changed(v, a.Want.Kind, min(a.found.Upto, a.Since))
	if err != nil {
		return nil, err
	}
	ids := slices.Concat(a.found.IDs, tail)
	if len(tail) > 0 {
		slices.SortFunc(ids, record.ID.Compare)
		ids = slices.Compact(ids)
	}
	a.tail = tail
	return ids, nil
}

// changed returns the records of a kind that the log names after a sequence, ascending.
func changed(v *table.View, k *record.Kind, since uint64) (ids []record.ID, err error) {
	err = v.Scan(table.LogBucket, nil, table.SeqKey(since+1), func(key, row []byte) (bool, error) {
		c, err := table.ParseLog(key, row)
		if err == nil && c.Kind == k && !c.Deleted {
			ids = append(ids, c.ID)
		}
		return true, err
	})
	slices.SortFunc(ids, record.ID.Compare)
	return ids, err
}

// sift keeps the matches that only their bodies can tell: of a search, and memberships by their group.
func sift(v *table.View, p auth.Principal, q Query, m *Matches) error {
	searches := q.searches()
	if !searches && (q.Kind != record.Membership || p.IsWhole()) {
		return nil
	}
	all := m.Everything()
	m.ids, m.Exact = make([]record.ID, 0, min(len(all), 1024)), true
	return v.Each(q.Kind, all, func(st *table.Stored) error {
		if searches && !q.Search.Matches(q.Kind, st.Body) {
			return nil
		}
		if q.Kind == record.Membership {
			if ok, err := entry.Sees(v, p, q.Kind, st); err != nil || !ok {
				return err
			}
		}
		m.ids = append(m.ids, st.ID)
		return nil
	})
}

// Hit is how well a record answers a ranked search.
type Hit struct {
	Cost    int64
	ID      record.ID
	Holding record.ID // of a ticket: by which it was found
}

func (h Hit) Compare(other Hit) int {
	return cmp.Or(cmp.Compare(h.Cost, other.Cost), h.ID.Compare(other.ID))
}

// rank keeps the best matches of a ranked search, the best first.
func rank(v *table.View, q Query, m *Matches, a *Asked) error {
	hits, err := m.Hits(v, q.Ranked, a, func(st *table.Stored) (Hit, bool) { return Hit{ID: st.ID}, true })
	if err != nil {
		return err
	}
	hits = best(hits)
	m.ids, m.Exact = make([]record.ID, len(hits)), true
	for i, h := range hits {
		m.ids[i] = h.ID
	}
	return nil
}

// Hits are those matches that a ranked search finds, or at least the maxRanked best of them. of makes a Hit of a match, or passes over it.
// The search has to be asked again (Searching) where others than what a Finder has named may be better.
func (m *Matches) Hits(v *table.View, r *search.Ranked, a *Asked, of func(*table.Stored) (Hit, bool)) (hits []Hit, err error) {
	if r.Empty() {
		return nil, nil
	}
	err = v.Each(m.Kind, m.Everything(), func(st *table.Stored) error {
		cost, found := r.Cost(m.Kind, st.Body)
		if !found {
			return nil
		}
		h, ok := of(st)
		if !ok {
			return nil
		}
		h.Cost = cost
		a.count(st.ID)
		if hits = append(hits, h); len(hits) == 2*maxRanked {
			hits = best(hits)
		}
		return nil
	})
	if err == nil && a.lacks() {
		err = errAskAgain
	}
	return hits, err
}

// count notes a match.
func (a *Asked) count(id record.ID) {
	if a == nil || a.found == nil {
		return
	}
	if _, changed := slices.BinarySearchFunc(a.tail, id, record.ID.Compare); !changed {
		a.right++
	}
}

// lacks tells whether a Finder may have left out better matches than it has named: it has named as many as it was asked for, and
// more than the spare ones among them have changed since, or were none.
func (a *Asked) lacks() bool {
	return a != nil && a.found != nil && len(a.found.IDs) >= a.Want.Limit && len(a.found.IDs)-a.right > spareBest
}

// best are the maxRanked best hits, the best first.
func best(hits []Hit) []Hit {
	slices.SortFunc(hits, Hit.Compare)
	return hits[:min(maxRanked, len(hits))]
}

// ErrNoIndex is a Finder's error while it is not ready: the store reads every record instead.
var ErrNoIndex = errors.New("the search index is not ready")

// ErrIndexing means that a search must wait for its index: without it there are too many records to read.
var ErrIndexing = errors.New("the search index is being built")

// Finder knows where to look for what is searched. It returns candidates only. The store reads each candidate and decides, so a
// late or wrong index costs time but shows no record that the principal may not see.
type Finder interface {
	// Find returns at least every record that w asks for as the store was at Found.Upto. A ranked search returns at least
	// w.Limit candidates, and no match that it leaves out is better than any of them. Find returns ErrNoIndex while the index
	// is not ready.
	Find(w Wanted) (Found, error)
}

// Wanted says which records a Finder must name. One of Search and Ranked is set.
type Wanted struct {
	Kind   *record.Kind
	All    bool    // of every home
	Homes  []int64 // otherwise of these, 0 = of none
	Search *search.Terms
	Ranked *search.Ranked
	Keep   func(record.ID) bool // Ranked: a candidate counts only if it returns true; nil = all count
	Limit  int                  // Ranked: this many of the best are enough; if fewer are returned, there are no more
}

// Found are candidates.
type Found struct {
	IDs  []record.ID // ascending, no id twice
	Upto uint64      // every change of the log up to this sequence has been looked at
}
