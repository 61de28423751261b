package table

import (
	"slices"
	"sync"

	"doorward/kv/scopes"
)

// FeedName names what a bell is rung for: a free database, or the records of a scope.
type FeedName struct {
	Free  string
	Scope scopes.Scope
}

// bells wake only the callers that wait for the changes of one database. A commit rings the bells of the databases that it
// changed. A database without waiting callers has no bell.
type bells struct {
	Mu    sync.Mutex
	Ropes map[FeedName]*Rope
}

// Rope is what the listeners of one bell hold.
type Rope struct {
	Pulled    chan struct{}
	listeners int
}

// Hear returns a channel that the next ring of a bell closes. The caller must call leave when it stops listening.
func (b *bells) Hear(name FeedName) (pulled <-chan struct{}, leave func()) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	r := b.Ropes[name]
	if r == nil {
		if b.Ropes == nil {
			b.Ropes = map[FeedName]*Rope{}
		}
		r = &Rope{Pulled: make(chan struct{})}
		b.Ropes[name] = r
	}
	r.listeners++
	return r.Pulled, func() {
		b.Mu.Lock()
		defer b.Mu.Unlock()
		if r.listeners--; r.listeners == 0 && b.Ropes[name] == r {
			delete(b.Ropes, name)
		}
	}
}

// ring wakes the listeners of some bells. The change is visible before the bell rings.
func (b *bells) ring(names []FeedName) {
	if len(names) == 0 {
		return
	}
	b.Mu.Lock()
	defer b.Mu.Unlock()
	for _, name := range names {
		if r := b.Ropes[name]; r != nil {
			close(r.Pulled)
			delete(b.Ropes, name)
		}
	}
}

// ring notes which feeds an operation has made grow; their bells ring with the commit.
func (g *group) ring(names []FeedName) {
	for _, name := range names {
		if !slices.Contains(g.rung, name) {
			g.rung = append(g.rung, name)
		}
	}
}
