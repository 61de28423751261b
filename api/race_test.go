package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"doorward/kv/kvtest"
)

// racers bring every code to the door: of an equal number of clients each, the first have a key of their own, the second
// share one, the third share one and send the same Idempotency-Key for a code.
const (
	racers     = 32
	racedCodes = 300
)

// racedCode is a code as its ticket has it.
func racedCode(i int) string { return fmt.Sprintf("RACE-%03d-K7QP", i) }

// decided is what a client was told of a code.
type decided struct {
	status   int
	outcome  string
	id, at   string
	replayed bool
}

func TestRaceOfAllClientsForAllCodesAdmitsEachOnce(t *testing.T) {
	w := newWorld(t)
	w.tickets(w.event, racedCodes, racedCode)
	shared := w.as("denomination", "checkin:*")
	told := make([][]decided, racers)
	var all sync.WaitGroup
	start := make(chan struct{})
	for n := range racers {
		c := &racer{wire: shared.wire(), number: n, nonces: n%4 == 3, event: w.event, draw: rand.New(rand.NewPCG(1, uint64(n)))}
		if n%2 == 0 {
			c.wire = w.as(fmt.Sprintf("event:%d", w.event), "checkin:*").wire()
		}
		all.Go(func() {
			<-start
			told[n] = c.run()
		})
	}
	close(start)
	all.Wait()
	admitted := map[string]bool{}
	for i := range racedCodes {
		admitted[judged(t, i, told)] = true
	}
	if len(admitted) != racedCodes {
		t.Errorf("%d check-ins admitted %d codes", len(admitted), racedCodes)
	}
	wantCheckins(t, w, admitted)
}

// racer is one client at the door.
type racer struct {
	*wire
	number int
	nonces bool
	event  int64
	draw   *rand.Rand
}

// run tries every code once, in about the order in which everybody does, by either surface and in a drawn spelling.
func (c *racer) run() []decided {
	told := make([]decided, racedCodes)
	for ten := 0; ten < racedCodes; ten += 10 { // within ten codes everybody has an order of his own
		for k, i := range c.draw.Perm(10) {
			told[ten+i] = c.try(ten+i, k%2 == 0)
		}
	}
	return told
}

func (c *racer) try(i int, atDoor bool) decided {
	path := checkinPath(c.event)
	if atDoor {
		path = fmt.Sprintf("/door/v1/event/%d/scan/", c.event)
	}
	headers := []string{"X-Door", fmt.Sprintf("Door %d", c.number)}
	if c.nonces {
		headers = append(headers, "Idempotency-Key", racedCode(i))
	}
	spelling := []string{racedCode(i), fmt.Sprintf("race %03dk7qp", i), fmt.Sprintf("https://tickets.example/%s/", racedCode(i))}[c.draw.IntN(3)]
	return readDecided(c.ask("POST", path, fmt.Sprintf(`{"code":%q}`, spelling), headers...))
}

// readDecided reads an answer of either surface.
func readDecided(a answer) decided {
	d := decided{status: a.status, replayed: a.header.Get("Idempotency-Replayed") == "true"}
	d.outcome, d.id, d.at = kvtest.Decided(a.status, a.header, a.body)
	return d
}

// judged holds what all clients were told of a code against the contract, and answers the check-in that admitted it.
func judged(t *testing.T, i int, told [][]decided) string {
	t.Helper()
	first := decided{}
	for _, of := range told {
		if d := of[i]; d.outcome == "admitted" && !d.replayed {
			if first.id != "" {
				t.Errorf("%s was admitted twice: %+v and %+v", racedCode(i), first, d)
			}
			first = d
		}
	}
	if first.id == "" || first.at == "" {
		t.Errorf("%s was admitted to nobody", racedCode(i))
	}
	for n, of := range told {
		d := of[i]
		switch {
		case d.id != first.id || d.at != first.at:
			t.Errorf("%s: client %d was told %+v, the admission is %+v", racedCode(i), n, d, first)
		case d.outcome == "admitted" && d.replayed && n%4 != 3:
			t.Errorf("%s: client %d, without an Idempotency-Key, was told %+v", racedCode(i), n, d)
		case d.outcome == "already_admitted" && d.status != 409 && d.status != 200, d.outcome != "admitted" && d.outcome != "already_admitted":
			t.Errorf("%s: client %d was told %+v", racedCode(i), n, d)
		}
	}
	return first.id
}

// tickets imports tickets of an event.
func (w *world) tickets(event int64, n int, code func(int) string) {
	w.Helper()
	csv := "code,holder_name\n"
	for i := range n {
		csv += code(i) + ",Ana Souza\n"
	}
	path := fmt.Sprintf("/admin/v1/import/?kind=ticket&event=%d", event)
	if a := w.status(w.do("POST", path, csv, header("Content-Type", "text/csv"), invalid), 200); a.text(w, "created") != fmt.Sprint(n) {
		w.Fatalf("import = %s", a.body)
	}
}

// wantCheckins wants the check-ins that the store has to be the given ones.
func wantCheckins(t *testing.T, w *world, admitted map[string]bool) {
	t.Helper()
	c := w.wire()
	n := 0
	for offset := 0; offset < racedCodes; offset += 100 {
		var page struct {
			Count   int
			Results []struct{ ID string }
		}
		a := c.ask("GET", fmt.Sprintf("/admin/v1/checkin/?limit=100&offset=%d", offset), "")
		if err := json.Unmarshal([]byte(a.body), &page); err != nil || page.Count != len(admitted) {
			t.Fatalf("the store has %s, want %d check-ins", a.body, len(admitted))
		}
		for _, f := range page.Results {
			if !admitted[f.ID] {
				t.Errorf("check-in %s was answered to nobody", f.ID)
			}
			n++
		}
	}
	if n != len(admitted) {
		t.Errorf("the list has %d check-ins, want %d", n, len(admitted))
	}
}

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
