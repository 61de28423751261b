package kv_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/feed"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/search"
)

// follower is an index as a Finder must be: it names every record that is asked for as the store was when it last followed, or
// of a ranked search as many as it is asked for, of which no other is better, and besides whatever it likes.
type follower struct {
	t         testing.TB
	s         *kv.Store
	mu        sync.Mutex
	upto      uint64
	docs      map[*record.Kind]map[record.ID]feed.Replayed
	junk      int    // how many ids are named that nobody asked for
	fooled    int    // how many of those that a ranked search wants at most are no matches, as it will turn out
	before    func() // happens before it looks, after the store has; may be nil
	meanwhile func() // happens after it has looked; may be nil
}

func newFollower(t testing.TB, s *kv.Store) *follower {
	f := &follower{t: t, s: s, docs: map[*record.Kind]map[record.ID]feed.Replayed{}}
	for _, k := range []*record.Kind{record.Person, record.HolderName, record.HolderLabel} {
		f.docs[k] = map[record.ID]feed.Replayed{}
	}
	return f
}

// follow looks at so many changes more.
func (f *follower) follow(changes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	page, upto, err := f.s.Log.Replay(auth.Operator(), f.upto, changes, record.Person, record.HolderName, record.HolderLabel)
	if err != nil {
		f.t.Errorf("replay: %v", err)
	}
	f.upto = upto
	for _, c := range page {
		if f.docs[c.Kind][c.ID] = c; c.Deleted {
			delete(f.docs[c.Kind], c.ID)
		}
	}
}

// Find answers what is asked for.
func (f *follower) Find(w desk.Wanted) (desk.Found, error) {
	if f.before != nil {
		f.before()
	}
	f.mu.Lock()
	found := desk.Found{Upto: f.upto}
	costs := map[record.ID]int64{}
	var fooled, rest []record.ID
	for id, c := range f.docs[w.Kind] {
		if !w.All && !slices.Contains(w.Homes, c.Home) {
			continue
		}
		if w.Ranked == nil {
			if w.Search.Matches(w.Kind, c.Body) {
				found.IDs = append(found.IDs, id)
			}
		} else if cost, ok := w.Ranked.Cost(w.Kind, c.Body); (ok || len(fooled) < f.fooled) && (w.Keep == nil || w.Keep(id)) {
			if costs[id] = cost; !ok {
				fooled = append(fooled, id)
				continue
			}
			found.IDs = append(found.IDs, id)
		}
	}
	f.mu.Unlock()
	if w.Ranked != nil {
		slices.SortFunc(found.IDs, func(a, b record.ID) int { return cmp.Or(cmp.Compare(costs[a], costs[b]), a.Compare(b)) })
		found.IDs = append(fooled, found.IDs...)
		found.IDs, rest = found.IDs[:min(len(found.IDs), w.Limit)], found.IDs[min(len(found.IDs), w.Limit):]
	}
	for range f.junk {
		id := record.Int(rand.Int64N(20) + 1)
		if len(rest) > 0 {
			id = rest[rand.IntN(len(rest))]
		}
		found.IDs = append(found.IDs, id)
	}
	slices.SortFunc(found.IDs, record.ID.Compare)
	found.IDs = slices.Compact(found.IDs)
	if f.meanwhile != nil {
		f.meanwhile()
	}
	return found, nil
}

// broken is an index that fails.
type broken struct{ err error }

func (b broken) Find(desk.Wanted) (desk.Found, error) { return desk.Found{}, b.err }

// ahead is an index of another store: it says that it has seen what this one has not.
type ahead struct{}

func (ahead) Find(desk.Wanted) (desk.Found, error) { return desk.Found{Upto: 1 << 40}, nil }

var errBroken = errors.New("broken on purpose")

// TestSearchWithoutItsIndex scans, up to a limit.
func TestSearchWithoutItsIndex(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	s := kvtest.OpenConfig(t, kv.Config{ScanLimit: 3, Registerer: reg})
	c := newCongregation(t, s)
	for id := int64(1); id <= 4; id++ {
		loaded(t, s, row(t, record.Person, id, fmt.Sprintf(`{"full_name":"Ana","church_id":%d}`, 1+id%2)),
			row(t, record.Ticket, id, fmt.Sprintf(`{"event_id":1,"code":"CODE-%d","holder_name":"Ana"}`, id)))
	}
	for _, row := range []struct {
		name  string
		f     desk.Finder
		level int // of newCongregation's keys
		want  int
		err   error
	}{
		{"no index at all", nil, 0, 4, nil},
		{"one that is not ready, and too many people", broken{desk.ErrNoIndex}, 0, 0, desk.ErrIndexing},
		{"one that is not ready, and few people of the key's church", broken{desk.ErrNoIndex}, 4, 2, nil},
		{"one that has failed", broken{errBroken}, 4, 2, nil},
		{"one that has failed, and too many people", broken{errBroken}, 0, 0, desk.ErrIndexing},
		{"one of another store", ahead{}, 4, 2, nil},
	} {
		for _, q := range []desk.Query{{Search: search.Parse("ana")}, {Ranked: search.ParseRanked("ana")}} {
			q.Surface, q.Kind, q.Finder, q.Limit = record.Admin, record.Person, row.f, 10
			page, err := s.Desk.List(c.keys[row.level], q)
			if !errors.Is(err, row.err) || page.Count != row.want {
				t.Errorf("with %s: %d people, %v, want %d, %v", row.name, page.Count, err, row.want, row.err)
			}
		}
	}
	if _, err := s.Door.FindTickets(auth.Operator(), 1, search.ParseRanked("ana"), broken{desk.ErrNoIndex}); !errors.Is(err, desk.ErrIndexing) {
		t.Errorf("tickets without an index = %v, want ErrIndexing", err)
	}
	if hits, err := s.Door.FindTickets(auth.Operator(), 1, search.ParseRanked("ana"), nil); err != nil || len(hits) != 4 {
		t.Errorf("tickets with no index at all = %d, %v, want 4", len(hits), err)
	}
	if n := kvtest.Metric(t, reg, "doorward_search_fallbacks_total"); n != 16 { // an index of another store is asked three times, for tickets twice
		t.Errorf("%v searches fell back, want 16", n)
	}
}
