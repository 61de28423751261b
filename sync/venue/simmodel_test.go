package venue_test

import (
	"maps"
)

// promise is something that a store has answered for: it must not be lost while a store has it from which it spreads.
type promise struct {
	label    string
	sort     sort
	author   string // the node's ULID
	id       string // of the check-in, or the record as <kind>:<number>
	person   int64
	value    string // of an edit
	base     string // what it was made of, which its author saw
	forgiven bool   // the centre was restored since
}

// sort is what was promised.
type sort string

const (
	admission sort = "admission"
	undoing   sort = "undo"
	sale      sort = "ticket"
	member    sort = "person"
	edit      sort = "edit"
	note      sort = "note"
	removal   sort = "removal"
	cancel    sort = "cancellation"
)

// isDoor tells what all computers of the event exchange; the rest is the church's.
func (s sort) isDoor() bool {
	return s == admission || s == undoing || s == sale || s == cancel || s == note
}

// isWritten tells what may be lost to another's edit, and is shown to people then.
func (s sort) isWritten() bool { return s == edit || s == note }

// memory is what a store certainly holds: what it has answered for, and what rounds that came to their end have brought.
type memory struct {
	holds    map[string]bool   // labels of promises
	admitted map[string]string // by code: the check-in that this store has written
	nonces   map[string]string // of attempts: the check-in that was answered
	last     string            // nonce and code of the last attempt
}

func newMemory() *memory {
	return &memory{holds: map[string]bool{}, admitted: map[string]string{}, nonces: map[string]string{}}
}

func (m *memory) clone() *memory {
	return &memory{holds: maps.Clone(m.holds), admitted: maps.Clone(m.admitted), nonces: maps.Clone(m.nonces), last: m.last}
}

// promised notes an answer of a node.
func (w *world) promised(n *node, p promise) {
	p.author = n.store.Tables.Identity.Node()
	w.promises[p.label] = &p
	n.own.holds[p.label] = true
}

// claimed notes that an id was given to a record that a label tells from all others.
func (w *world) claimed(kind string, id int64, label string) {
	key := docName(kind, id)
	if other, taken := w.claims[key]; taken && other != label {
		w.failf("%s was given to %s and to %s", key, other, label)
	}
	w.claims[key] = label
}

// exchanged notes a round that came to its end: both have what the other had and may tell.
func (w *world) exchanged(n *node) {
	for label := range n.own.holds {
		if w.promises[label].author == n.store.Tables.Identity.Node() {
			w.centre.own.holds[label] = true
		}
	}
	for label := range w.centre.own.holds {
		if n.persons || w.promises[label].sort.isDoor() {
			n.own.holds[label] = true
		}
	}
}

// isDue tells whether a promise must be kept in the end: the centre has it, or a laptop that may bring it there.
func (w *world) isDue(p *promise) bool {
	if w.centre.own.holds[p.label] {
		return true
	}
	for _, n := range w.laptops {
		if n.own.holds[p.label] && n.store.Tables.Identity.Node() == p.author {
			return true
		}
	}
	return false
}
