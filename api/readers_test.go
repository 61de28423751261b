package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

const (
	settled = 120 // people who stay as they are
	writes  = 200
	readers = 4
)

// soul is a person as a list shows it.
type soul struct {
	id, church int64
	name       string
}

// TestReadersSeeOneStateOnEveryPage lets readers page through people while a writer makes, changes, moves and deletes some. Every
// page, with its count and its links, must be that of one of the states that the store went through while it was asked; and of the
// people whom nobody touches, who come first, a walk over all pages shows each once.
func TestReadersSeeOneStateOnEveryPage(t *testing.T) {
	w := newWorld(t)
	f := &flock{wire: w.wire(), homes: []int64{w.church, w.sister, w.far}, draw: rand.New(rand.NewPCG(1, 2))}
	f.settle()
	var all sync.WaitGroup
	seen := make([][]glimpse, readers)
	for n := range readers {
		r := &pager{wire: w.wire(), flock: f, draw: rand.New(rand.NewPCG(3, uint64(n)))}
		if n == 0 {
			own := w.as(fmt.Sprintf("church:%d", w.church), "people:GET")
			r.wire, r.church = own.wire(), w.church
		}
		all.Go(func() { seen[n] = r.read() })
	}
	f.write()
	all.Wait()
	pages := 0
	for _, list := range seen {
		for _, g := range list {
			g.judge(t, f.states)
		}
		pages += len(list)
	}
	t.Logf("%d writes, %d pages", writes, pages)
}

// flock is what the writer knows: every state that the store went through.
type flock struct {
	*wire
	homes   []int64
	draw    *rand.Rand
	stay    []soul   // who is there from the beginning, untouched
	states  [][]soul // after each write, sorted by id; the writer's until it is done
	begun   atomic.Int64
	done    atomic.Int64
	churned []int64
}

// settle reads the people there are and makes those who stay.
func (f *flock) settle() {
	for i := range settled {
		f.ask("POST", "/v1/people/", fmt.Sprintf(`{"full_name":"Settled %d","church_id":%d}`, i, f.homes[i%2]))
	}
	var state []soul
	for _, path := range []string{"/v1/people/?limit=100", "/v1/people/?limit=100&offset=100"} {
		state = append(state, readPage(f.TB, f.ask("GET", path, "")).souls()...)
	}
	f.stay, f.states = state, [][]soul{state}
}

// write changes the flock, one write after another, and notes the state after each.
func (f *flock) write() {
	for n := range writes {
		f.begun.Store(int64(n + 1))
		state := slices.Clone(f.states[n])
		switch of := f.draw.IntN(10); {
		case len(f.churned) < 10 || of < 3 && len(f.churned) < 40:
			state = f.create(state, n)
		case of < 5:
			state = f.remove(state)
		case of < 8: // to another church
			f.change(state, func(s *soul) { s.church = f.homes[f.draw.IntN(3)] })
		default:
			f.change(state, func(s *soul) { s.name = fmt.Sprintf("Changed %d", n) })
		}
		f.states = append(f.states, state)
		f.done.Store(int64(n + 1))
	}
}

func (f *flock) create(state []soul, n int) []soul {
	s := soul{church: f.homes[f.draw.IntN(3)], name: fmt.Sprintf("Made %d", n)}
	a := f.ask("POST", "/v1/people/", fmt.Sprintf(`{"full_name":%q,"church_id":%d}`, s.name, s.church))
	var made struct{ ID int64 }
	if err := json.Unmarshal([]byte(a.body), &made); err != nil || a.status != 201 {
		f.Errorf("create = %d %s", a.status, a.body)
	}
	s.id = made.ID
	f.churned = append(f.churned, s.id)
	return append(state, s)
}

// pick draws one of those whom the writer touches and answers its place in a state.
func (f *flock) pick(state []soul) int {
	id := f.churned[f.draw.IntN(len(f.churned))]
	return slices.IndexFunc(state, func(s soul) bool { return s.id == id })
}

func (f *flock) remove(state []soul) []soul {
	i := f.pick(state)
	id := state[i].id
	if a := f.ask("DELETE", adminPath("person", id), ""); a.status != 204 {
		f.Errorf("delete = %d %s", a.status, a.body)
	}
	f.churned = slices.DeleteFunc(f.churned, func(x int64) bool { return x == id })
	return slices.Delete(state, i, i+1)
}

func (f *flock) change(state []soul, fn func(*soul)) {
	s := &state[f.pick(state)]
	fn(s)
	body := fmt.Sprintf(`{"full_name":%q,"church_id":%d}`, s.name, s.church)
	if a := f.ask("PATCH", personPath(s.id), body); a.status != 200 {
		f.Errorf("patch = %d %s", a.status, a.body)
	}
}

// pager is one reader.
type pager struct {
	*wire
	flock  *flock
	church int64 // of its key; 0 = all
	draw   *rand.Rand
}

// glimpse is one page and what may have been the state when it was made.
type glimpse struct {
	path          string
	churches      []int64 // nil = all
	limit, offset int
	from, to      int64
	page          people1
}

// people1 is a page of people.
type people1 struct {
	Count          int
	Next, Previous *string
	Results        []struct {
		ID     int64
		Name   string `json:"full_name"`
		Church *struct{ ID int64 }
	}
}

func readPage(t testing.TB, a answer) (p people1) {
	if err := json.Unmarshal([]byte(a.body), &p); err != nil || a.status != 200 {
		t.Errorf("page = %d %s", a.status, a.body)
	}
	return p
}

func (p people1) souls() (list []soul) {
	for _, r := range p.Results {
		s := soul{id: r.ID, name: r.Name}
		if r.Church != nil {
			s.church = r.Church.ID
		}
		list = append(list, s)
	}
	return list
}

// read walks over lists until the writer is done.
func (r *pager) read() (seen []glimpse) {
	for r.flock.done.Load() < writes {
		g := glimpse{path: "/v1/people/?", limit: []int{7, 30, 100}[r.draw.IntN(3)]}
		if r.church != 0 {
			g.churches = []int64{r.church}
		}
		if n := r.draw.IntN(3); n > 0 { // one church, or two
			g.churches = r.flock.homes[:min(n, 2)]
			if r.church != 0 {
				g.churches = []int64{r.church}
			}
			for _, church := range g.churches {
				g.path += fmt.Sprintf("church_id=%d&", church)
			}
		}
		seen = append(seen, r.walk(g)...)
	}
	return seen
}

// walk reads a list from its first page to its last, and wants the settled people once each.
func (r *pager) walk(g glimpse) (seen []glimpse) {
	met := map[int64]int{}
	for {
		g.from = r.flock.done.Load()
		g.page = readPage(r.TB, r.ask("GET", fmt.Sprintf("%slimit=%d&offset=%d", g.path, g.limit, g.offset), ""))
		g.to = r.flock.begun.Load()
		seen = append(seen, g)
		for _, s := range g.page.souls() {
			met[s.id]++
		}
		if g.page.Next == nil || len(g.page.Results) == 0 {
			break
		}
		g.offset += g.limit
	}
	for _, s := range r.flock.stay {
		if of(g.churches, s) && met[s.id] != 1 {
			r.Errorf("a walk over %s by %d shows person %d %d times", g.path, g.limit, s.id, met[s.id])
		}
	}
	return seen
}

// of tells whether somebody belongs to one of some churches; nil is everybody.
func of(churches []int64, s soul) bool { return churches == nil || slices.Contains(churches, s.church) }

// judge wants the page to be that of one of the states that there may have been.
func (g glimpse) judge(t *testing.T, states [][]soul) {
	t.Helper()
	got := g.page.souls()
	for _, state := range states[g.from : g.to+1] {
		var list []soul
		for _, s := range state {
			if of(g.churches, s) {
				list = append(list, s)
			}
		}
		end := min(len(list), g.offset+g.limit)
		if g.page.Count == len(list) && slices.Equal(got, list[min(g.offset, end):end]) &&
			(g.page.Next == nil) == (g.offset+g.limit >= len(list)) && (g.page.Previous == nil) == (g.offset == 0) {
			return
		}
	}
	t.Errorf("%slimit=%d&offset=%d counts %d and shows %v: that was never so, after write %d and before write %d",
		g.path, g.limit, g.offset, g.page.Count, got, g.from, g.to+1)
}
