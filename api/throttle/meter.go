package throttle

import (
	"sync"
	"time"
)

// meter counts what happens under a name in the minute from its first count on. It remembers a bounded number of names; when
// they are all in use, further ones share one count.
type meter[K comparable] struct {
	now func() time.Time

	mu      sync.Mutex
	windows map[K]window
	swept   time.Time
}

// window is one name's minute.
type window struct {
	ends time.Time
	n    int
}

// The bounds of a meter.
const (
	meterSpan  = time.Minute
	meterNames = 10_000
)

func newMeter[K comparable](now func() time.Time) *meter[K] {
	return &meter[K]{now: now, windows: map[K]window{}}
}

// add counts one more under a name and answers its window so far.
func (m *meter[K]) add(name K) window {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	w, ok := m.windows[name]
	if !ok && len(m.windows) >= meterNames {
		name = m.room(name, now)
		w = m.windows[name]
	}
	if !now.Before(w.ends) {
		w = window{ends: now.Add(meterSpan)}
	}
	w.n++
	m.windows[name] = w
	return w
}

// room forgets the windows that are over, at most once a second. It returns the name to count under: the zero name if the meter is full.
func (m *meter[K]) room(name K, now time.Time) K {
	if now.Sub(m.swept) >= time.Second {
		m.swept = now
		for k, w := range m.windows {
			if !now.Before(w.ends) {
				delete(m.windows, k)
			}
		}
	}
	if len(m.windows) >= meterNames {
		var shared K
		return shared
	}
	return name
}

// quota is what is left of a limit.
type quota struct {
	limit, remaining int
	reset            time.Time
	wait             time.Duration
}

// of is the quota that a window leaves of a limit.
func (m *meter[K]) of(w window, limit int) quota {
	return quota{limit, max(0, limit-w.n), w.ends, w.ends.Sub(m.now())}
}
