package kv

import (
	"slices"
	"sync"

	"doorward/kv/scopes"
)

// feedName names what a bell is rung for: a free database, or the records of a scope.
type feedName struct {
	free  string
	scope scopes.Scope
}

// bells wake only the callers that wait for the changes of one database. A commit rings the bells of the databases that it
// changed. A database without waiting callers has no bell.
type bells struct {
	mu    sync.Mutex
	ropes map[feedName]*rope
}

// rope is what the listeners of one bell hold.
type rope struct {
	pulled    chan struct{}
	listeners int
}

// hear returns a channel that the next ring of a bell closes. The caller must call leave when it stops listening.
func (b *bells) hear(name feedName) (pulled <-chan struct{}, leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.ropes[name]
	if r == nil {
		if b.ropes == nil {
			b.ropes = map[feedName]*rope{}
		}
		r = &rope{pulled: make(chan struct{})}
		b.ropes[name] = r
	}
	r.listeners++
	return r.pulled, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if r.listeners--; r.listeners == 0 && b.ropes[name] == r {
			delete(b.ropes, name)
		}
	}
}

// ring wakes the listeners of some bells. The change is visible before the bell rings.
func (b *bells) ring(names []feedName) {
	if len(names) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range names {
		if r := b.ropes[name]; r != nil {
			close(r.pulled)
			delete(b.ropes, name)
		}
	}
}

// ring notes which feeds an operation has made grow; their bells ring with the commit.
func (g *group) ring(names []feedName) {
	for _, name := range names {
		if !slices.Contains(g.rung, name) {
			g.rung = append(g.rung, name)
		}
	}
}
