package api

import (
	"maps"
	"sync"
)

// company counts the pages at an event's doors: each page of a door holds a stream open. It is in memory alone.
type company struct {
	mu     sync.Mutex
	events map[int64]*crowd
	ending chan struct{} // closed when the server ends
	once   sync.Once
}

// crowd is the company of one event.
type crowd struct {
	doors   map[string]int // pages
	changed chan struct{}  // closed when they change
}

func newCompany() *company { return &company{events: map[int64]*crowd{}, ending: make(chan struct{})} }

// end ends all streams.
func (c *company) end() { c.once.Do(func() { close(c.ending) }) }

// join adds a page to a door. The caller must call leave.
func (c *company) join(event int64, door string) (leave func()) {
	c.add(event, door, 1)
	return func() { c.add(event, door, -1) }
}

func (c *company) add(event int64, door string, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.of(event)
	if of.doors[door] += by; of.doors[door] == 0 {
		delete(of.doors, door)
	}
	close(of.changed)
	of.changed = make(chan struct{})
	if len(of.doors) == 0 {
		delete(c.events, event)
	}
}

// of returns an event's crowd. It makes one for the first page.
func (c *company) of(event int64) *crowd {
	if c.events[event] == nil {
		c.events[event] = &crowd{map[string]int{}, make(chan struct{})}
	}
	return c.events[event]
}

// look returns the pages of an event by door, and a channel that is closed when they change; nil if no page listens.
func (c *company) look(event int64) (doors map[string]int, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.events[event]
	if of == nil {
		return nil, nil // no page listens
	}
	return maps.Clone(of.doors), of.changed
}
