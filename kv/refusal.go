package kv

import (
	"time"
	"unicode/utf8"

	"doorward/kv/record"
)

// A refusal is written with its answer, but not each: equal ones within a minute count once, and one key writes at most
// sixty a minute (design.md §2). What is not written is still answered and counted in the metric.
const (
	refusalQuiet  = time.Minute
	refusalsAKey  = 60
	refusalMemory = 4096 // remembered refusals before old ones are forgotten
)

// doorMemory is what the writer remembers of the last minute's refusals.
type doorMemory struct {
	seen map[refusalKey]time.Time
	keys map[int64]*refusalCount
}

type refusalKey struct {
	event   int64
	door    string
	code    codeHash
	outcome Outcome
}

type refusalCount struct {
	since time.Time
	n     int
}

// note tells whether a refusal is to be written, and remembers it.
func (m *doorMemory) note(key refusalKey, api int64, now time.Time) bool {
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
	kept := make(map[refusalKey]time.Time)
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

// refuse answers a refusal and, if it is due, writes it.
func refuse(o *op, a *attempt, f *fact, d Decision) (Decision, error) {
	if f.about != nil {
		if err := describe(o.sight, &d, a.p, f.about); err != nil {
			return d, err
		}
	}
	if !o.doors.note(refusalKey{f.event, f.door, f.codeHash, d.Outcome}, a.p.Key(), o.now) {
		return d, nil
	}
	putFact(o, record.Scan, a.p, f, func(draft *record.Draft) {
		draft.Text("outcome", string(d.Outcome))
		draft.Int("length", int64(utf8.RuneCountInString(a.Code)))
	})
	return d, nil
}

// refuseUnknown refuses a reading that means no ticket of the event.
func refuseUnknown(o *op, a *attempt) (Decision, error) {
	other, err := elsewhere(o, a)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Outcome: UnknownCode}
	if other {
		d.Outcome = WrongEvent
	}
	f := &fact{event: a.Event, door: a.Door, at: a.moment(o.now)}
	if len(a.exact) > 0 {
		f.codeHash = a.exact[0]
	}
	return refuse(o, a, f, d)
}
