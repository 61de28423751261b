package table

import "time"

// A refusal is written with its answer, but not each: equal ones within a minute count once, and one key writes at most
// sixty a minute (design.md §2). What is not written is still answered and counted in the metric.
const (
	refusalQuiet  = time.Minute
	refusalsAKey  = 60
	refusalMemory = 4096 // remembered refusals before old ones are forgotten
)

// doorMemory is what the writer remembers of the last minute's refusals.
type doorMemory struct {
	seen map[RefusalKey]time.Time
	keys map[int64]*refusalCount
}

type RefusalKey struct {
	Event   int64
	Door    string
	Code    CodeHash
	Outcome Outcome
}

type refusalCount struct {
	since time.Time
	n     int
}

// Note tells whether a refusal is to be written, and remembers it.
func (m *doorMemory) Note(key RefusalKey, api int64, now time.Time) bool {
	if m.seen == nil || len(m.seen) >= refusalMemory {
		m.forget(now)
	}
	if last, ok := m.seen[key]; ok && now.Sub(last) < refusalQuiet && !now.Before(last) {
		return false
	}
	count := m.keys[api]
	if count == nil || now.Sub(count.since) >= refusalQuiet || now.Before(count.since) {
		count = &refusalCount{since: now}
		m.keys[api] = count
	}
	if count.n >= refusalsAKey {
		return false
	}
	count.n++
	m.seen[key] = now
	return true
}

// forget drops what is over a minute old; if that is not enough, everything.
func (m *doorMemory) forget(now time.Time) {
	kept := make(map[RefusalKey]time.Time)
	for key, last := range m.seen {
		if now.Sub(last) < refusalQuiet && !now.Before(last) {
			kept[key] = last
		}
	}
	if len(kept) >= refusalMemory {
		clear(kept)
	}
	m.seen = kept
	if m.keys == nil || len(m.keys) >= refusalMemory {
		m.keys = make(map[int64]*refusalCount)
	}
}
