package kv

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/record"
	"doorward/kv/search"
)

// A search asks its Finder outside of any View, for what p saw in a short one, and decides in another View: by the bodies of
// what was named and of everything that has changed since. Where p sees other homes by then it asks again.

const (
	maxRanked = 1000    // matches that are ranked at most
	spareBest = 64      // asked for in addition, because some of the best may change before they are read
	maxAsked  = 3       // how often a Finder is asked before everything is looked at
	scanLimit = 100_000 // of Config
)

// errAskAgain says that a Finder's candidates are not enough.
var errAskAgain = errors.New("what the index was asked is no longer what is wanted")

// errIndexAhead is the errAskAgain of an index that does not fit the store.
var errIndexAhead = fmt.Errorf("%w: the index says that it is ahead of the store", errAskAgain)

// searching is what a store needs to search.
type searching struct {
	limit     int // how many records are looked at without an index
	log       *slog.Logger
	fallbacks prometheus.Counter
	failed    sync.Once
}

func newSearching(limit int, log *slog.Logger) *searching {
	return &searching{limit: limit, log: log, fallbacks: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "doorward_search_fallbacks_total", Help: "Times a search did without the index, which was not ready or failed.",
	})}
}

// asked is what a Finder was asked, and what it returned.
type asked struct {
	want  Wanted
	since uint64      // changes after this one are read as well
	most  int         // records that may be read if the Finder returned nothing; 0 = all
	found *Found      // nil: the Finder returned nothing
	tail  []record.ID // records that have changed since it looked
	right int         // matches that it has named, unchanged since
}

// tooMany tells whether n records are too many to read without the Finder's candidates.
func (a *asked) tooMany(n int) bool { return a != nil && a.found == nil && a.most > 0 && n > a.most }

// searches tells whether only the bodies of records can decide a query.
func (q *Query) searches() bool {
	return q.Ranked != nil && !q.Ranked.Empty() || q.Ranked == nil && q.Search != nil && !q.Search.Empty()
}

// ask lets a query's Finder name candidates. It returns nil if the query has no Finder or needs none.
func (s *Store) ask(p Principal, q Query, try int) (*asked, error) {
	if q.Finder == nil || !q.searches() || !q.Kind.Searchable() {
		return nil, nil
	}
	a := &asked{want: Wanted{Kind: q.Kind, Ranked: q.Ranked}, since: math.MaxUint64}
	if q.Ranked == nil {
		a.want.Search = q.Search
	}
	err := s.view(func(v *sight) error {
		h, err := scopeOf(v, p, q)
		if err != nil {
			return err
		}
		a.want.All, a.want.Homes = h.all, h.homes
		if q.Ranked == nil || len(h.rest) == 0 {
			return nil
		}
		m, err := matchWhere(v, p, q, nil)
		if err != nil {
			return err
		}
		a.want.Keep = m.contains
		a.since, err = sequence(v)
		return err
	})
	if err == nil {
		s.search.find(q.Finder, a, maxRanked, try)
	}
	return a, err
}

// find asks a Finder for the best candidates of a ranked search, the second time for all. It counts each call that fails. It does not
// log that an index is not ready, because that is no failure.
func (s *searching) find(f Finder, a *asked, best, try int) {
	if f == nil {
		return
	}
	a.most = s.limit
	if try >= maxAsked {
		return
	}
	a.want.Limit = best + spareBest
	if try > 0 {
		a.want.Limit = math.MaxInt
	}
	found, err := f.Find(a.want)
	switch {
	case err == nil:
		a.found = &found
	case errors.Is(err, ErrNoIndex):
		s.fallbacks.Inc()
	default:
		s.doubt(err)
	}
}

// doubt counts an index's failure, and logs the first.
func (s *searching) doubt(err error) {
	s.fallbacks.Inc()
	s.failed.Do(func() {
		s.log.Warn("the search index has failed: records are looked at instead", slog.Any("cause", err))
	})
}

// sequence is that of the latest change which a sight shows.
func sequence(v *sight) (uint64, error) {
	row, err := v.Get(metaBucket, stateKey)
	if err != nil {
		return 0, err
	}
	st, err := decodeState(row)
	return st.seq, err
}

// narrow leaves of the matches those that a Finder has named and those that have changed since it looked.
func narrow(v *sight, a *asked, h scope, m *matches) error {
	if a == nil || a.found == nil {
		return nil
	}
	if !h.within(a.want.All, a.want.Homes) {
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
func candidates(v *sight, a *asked) ([]record.ID, error) {
	seq, err := sequence(v)
	if err != nil {
		return nil, err
	}
	if a.found.Upto > seq {
		return nil, errIndexAhead
	}
	tail, err := changed(v, a.want.Kind, min(a.found.Upto, a.since))
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
func changed(v *sight, k *record.Kind, since uint64) (ids []record.ID, err error) {
	err = v.Scan(logBucket, nil, seqKey(since+1), func(key, row []byte) (bool, error) {
		c, err := parseLog(key, row)
		if err == nil && c.Kind == k && !c.Deleted {
			ids = append(ids, c.ID)
		}
		return true, err
	})
	slices.SortFunc(ids, record.ID.Compare)
	return ids, err
}

// sift keeps the matches that only their bodies can tell: of a search, and memberships by their group.
func sift(v *sight, p Principal, q Query, m *matches) error {
	searches := q.searches()
	if !searches && (q.Kind != record.Membership || p.IsWhole()) {
		return nil
	}
	all := m.everything()
	m.ids, m.exact = make([]record.ID, 0, min(len(all), 1024)), true
	return v.each(q.Kind, all, func(st *stored) error {
		if searches && !q.Search.Matches(q.Kind, st.body) {
			return nil
		}
		if q.Kind == record.Membership {
			if ok, err := sees(v, p, q.Kind, st); err != nil || !ok {
				return err
			}
		}
		m.ids = append(m.ids, st.id)
		return nil
	})
}

// hit is how well a record answers a ranked search.
type hit struct {
	cost int64
	id   record.ID
}

func (h hit) compare(other hit) int {
	if c := cmp.Compare(h.cost, other.cost); c != 0 {
		return c
	}
	return h.id.Compare(other.id)
}

// rank keeps the best matches of a ranked search, the best first.
func rank(v *sight, q Query, m *matches, a *asked) error {
	hits, err := hits(v, q.Kind, m.everything(), q.Ranked, a)
	if err != nil {
		return err
	}
	hits = best(hits, maxRanked)
	m.ids, m.exact = make([]record.ID, len(hits)), true
	for i, h := range hits {
		m.ids[i] = h.id
	}
	return nil
}

// hits are those of some records that a ranked search finds, or at least the maxRanked best of them. errAskAgain where others
// than what a Finder has named may be better.
func hits(v *sight, k *record.Kind, ids []record.ID, r *search.Ranked, a *asked) (hits []hit, err error) {
	if r.Empty() {
		return nil, nil
	}
	err = v.each(k, ids, func(st *stored) error {
		cost, ok := r.Cost(k, st.body)
		if !ok {
			return nil
		}
		a.count(st.id)
		if hits = append(hits, hit{cost, st.id}); len(hits) == 2*maxRanked {
			hits = best(hits, maxRanked)
		}
		return nil
	})
	if err == nil && a.lacks() {
		err = errAskAgain
	}
	return hits, err
}

// count notes a match.
func (a *asked) count(id record.ID) {
	if a == nil || a.found == nil {
		return
	}
	if _, changed := slices.BinarySearchFunc(a.tail, id, record.ID.Compare); !changed {
		a.right++
	}
}

// lacks tells whether a Finder may have left out better matches than it has named: it has named as many as it was asked for, and
// more than the spare ones among them have changed since, or were none.
func (a *asked) lacks() bool {
	return a != nil && a.found != nil && len(a.found.IDs) >= a.want.Limit && len(a.found.IDs)-a.right > spareBest
}

// best are the n best hits, the best first.
func best(hits []hit, n int) []hit {
	slices.SortFunc(hits, hit.compare)
	return hits[:min(n, len(hits))]
}
