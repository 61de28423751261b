package venue_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"doorward/kv/auth"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/sync/replicate"
	"doorward/sync/venue"
)

// world is a congregation drawn from a seed: a centre, laptops, what happens to them, and what they have promised.
type world struct {
	testing.TB
	*rand.Rand
	dir      string
	centre   *node
	laptops  []*node
	promises map[string]*promise
	claims   map[string]string   // by document: the label of the record that was given its id
	undone   map[string]bool     // check-ins
	deleted  map[int64]string    // people: what those who deleted them saw
	names    map[string][]string // that were given to holdings
	erased   []string            // names
	codes    []string
	people   []int64
	restored time.Time       // when the centre was, by its clock; zero: never
	late     map[string]bool // facts that it refuses since
	step     int
	trace    []string
}

// opening is when it all begins: a Sunday before the doors open.
var opening = time.Date(2026, 11, 22, 17, 0, 0, 0, time.UTC)

// newWorld makes a congregation.
func newWorld(t testing.TB, dir string, seed uint64) *world {
	time.Sleep(time.Until(opening))
	w := &world{TB: t, Rand: rand.New(rand.NewPCG(seed, 5)), dir: dir, promises: map[string]*promise{}, claims: map[string]string{},
		undone: map[string]bool{}, deleted: map[int64]string{}, names: map[string][]string{}, late: map[string]bool{}}
	w.centre = newNode(t, dir, "centre", 0)
	w.centre.serve()
	w.settle()
	w.join("church", "church:1", w.offset(), true)
	w.join("door", "event:1", w.offset(), false)
	if w.IntN(2) == 0 {
		w.join("gate", "event:1", w.offset(), false)
	}
	for _, n := range w.laptops {
		w.must(w.round(n, &wire{}))
		n.keep()
	}
	w.centre.keep()
	return w
}

// offset draws how wrong a clock is.
func (w *world) offset() time.Duration {
	some := []time.Duration{0, 0, 40 * time.Second, -90 * time.Second, 3 * time.Hour, -5 * time.Hour, 30 * time.Hour, -20 * 24 * time.Hour, 9 * 365 * 24 * time.Hour}
	return some[w.IntN(len(some))] + time.Duration(w.IntN(1000))*time.Millisecond
}

// settle gives the centre what everybody has from the start.
func (w *world) settle() {
	c := w.centre.store
	for _, b := range []struct {
		k    *record.Kind
		body string
	}{
		{record.Church, `{"name":"A"}`}, {record.Church, `{"name":"B"}`}, {record.Group, `{"name":"G","church_id":1}`},
		{record.Event, `{"name":"Sunday","start_datetime":"2026-11-22T19:00:00Z","church_id":1}`},
	} {
		kvtest.Create(w, c, b.k, b.body)
	}
	for range 4 {
		w.sell(w.centre)
	}
	for range 3 {
		w.enter(w.centre)
		kvtest.Create(w, c, record.Membership, fmt.Sprintf(`{"person":%d,"group_id":1}`, w.people[len(w.people)-1]))
	}
}

// join enrols a new laptop.
func (w *world) join(name, level string, offset time.Duration, persons bool) {
	n := newNode(w, w.dir, name, offset)
	n.persons = persons
	l, err := auth.ParseLevel(level)
	w.must(err)
	_, code, _, err := w.centre.store.Venues.Enrol(auth.Operator(), office.Enrolment{Name: name, Level: l, Venue: auth.Venue{Names: true}})
	w.must(err)
	const secret = "a secret of forty letters, or thereabouts"
	c, err := w.centre.store.Venues.Exchange(code, office.Joiner{Node: n.store.Tables.Identity.Node(), Secret: keys.HashSecret(secret + name)})
	w.must(err)
	up := table.Upstream{URL: "http://centre", Insecure: true, Node: c.Centre, ID: c.ID, Name: name, Key: c.Key, Secret: secret + name, Ends: c.Ends}
	w.must(n.store.Laptop.Join(auth.Operator(), up, c))
	w.laptops = append(w.laptops, n)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.failf("%v", err)
	}
}

// failf ends the simulation with what has happened.
func (w *world) failf(format string, args ...any) {
	w.Helper()
	w.Fatalf("after\n%s\n%s", strings.Join(w.trace, "\n"), fmt.Sprintf(format, args...))
}

// tell adds a line to what has happened.
func (w *world) tell(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%3d ", w.step)+fmt.Sprintf(format, args...))
}

// sum names what has happened.
func (w *world) sum() string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(w.trace, "\n"))))[:16]
}

// round is a laptop that meets its centre once.
func (w *world) round(n *node, l *wire) error {
	l.world, l.from = w, n
	epoch := n.store.Tables.Epochs.Present()
	erased := synctest.Wait // what the centre tells of erasures is carried out beside the visit
	denied, err := venue.VisitOnce(w.Context(), venue.Config{Store: n.store, Version: "sim"}, &http.Client{Transport: l}, erased)
	if n.store.Tables.Epochs.Present() != epoch {
		n.muted = false // it was told that it is a copy, or has one
	}
	for _, d := range denied {
		w.denied(d)
	}
	if n.crashed != nil {
		n.kill(n.crashed)
	}
	if w.centre.crashed != nil {
		w.centre.kill(w.centre.crashed)
	}
	if err == nil {
		w.exchanged(n)
	}
	return err
}

// denied judges a refusal.
func (w *world) denied(d replicate.Denial) {
	if d.Reason == othersFact && w.isLate() {
		w.late[d.ID] = true
	} else if !refusable[d.Reason] {
		w.failf("%s %s is refused: %s", d.ID, d.Rev, d.Reason)
	}
}

// othersFact is what a restored centre answers a laptop after a week: until then it takes back what other nodes have made.
const othersFact = "not permitted: a laptop brings the facts of its own node alone"

// isLate tells whether the centre was restored a week ago or longer, by its clock.
func (w *world) isLate() bool {
	return !w.restored.IsZero() && w.centre.now().Sub(w.restored) >= 7*24*time.Hour
}

// refusable is what a laptop may be told of a person that has moved away, and of a ticket that the centre has changed.
var refusable = map[string]bool{
	"not permitted: the record has moved to where the key may not write": true,
	"not permitted: somebody else has changed the ticket":                true,
}
