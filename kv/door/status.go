package door

import (
	"cmp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Status is an event according to its facts. Each check-in counts once: as already admitted if it is a double entry of a holder
// that was in, as undone, or else as admitted. It does not count if its list or direction is unknown. Refusals count as they
// are written: equal ones of a minute once.
type Status struct {
	Issued   int                     // tickets in state valid or unpaid
	Admitted int                     // check-ins in that count
	Inside   int                     // of them, those of guests that have not left
	Doubles  int                     // what DoubleEntries lists
	Outcomes map[outcome.Outcome]int // of check-ins and refusals
	Types    map[string]TypeCount
	Doors    map[string]int       // admitted
	Scanned  map[string]time.Time // by door, the last check-in or refusal that was made there, by this machine's clock
	Minutes  []MinuteCount        // the latest of them, oldest first
	Recent   []Moment             // the last check-ins and refusals, the latest first
}

// TypeCount is what there is of a ticket's type.
type TypeCount struct{ Issued, Admitted int }

// MinuteCount counts the check-ins and refusals of one minute, by the wall clock of the node that recorded them.
type MinuteCount struct {
	Minute            time.Time
	Admitted, Refused int
}

// maxMinutes is how many minutes a Status has.
const maxMinutes = 240

// Status counts an event. It returns *Forbidden, or ErrNotFound if the event is not the principal's.
func (dk *Desk) Status(p auth.Principal, event int64) (Status, error) {
	if err := p.Check(record.Checkin.Resource, "GET"); err != nil {
		return Status{}, err
	}
	if err := entry.Visible(dk.tables, p, record.Event, record.Int(event)); err != nil {
		return Status{}, err
	}
	b := dk.boards.of(event)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.follow(dk.tables); err != nil {
		return Status{}, err
	}
	return b.status(dk.tables.Clock.Now()), nil
}

// DoublesGauge counts the check-ins that are listed as double entries.
func DoublesGauge(s *table.Set) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_double_entries", Help: "Check-ins listed as double entries, of all events."}, func() float64 {
		return float64(s.Lists.Doubles.Load())
	})
}

// EventChanged returns a channel that is closed by the next commit that changes an event, its tickets or its facts. The caller must call
// leave when it stops listening.
func (dk *Desk) EventChanged(event int64) (changed <-chan struct{}, leave func()) {
	return dk.tables.Commits.Bells.Hear(table.FeedName{Scope: scopes.Scope{Sort: scopes.Event, ID: event}})
}

// Moment is one of the last things that happened at an event's doors. It names no guest.
type Moment struct {
	ID      string    // of the check-in or refusal
	At      time.Time // by this machine's clock
	Door    string
	Outcome outcome.Outcome
	Key     int64 // that was used; 0 = the operator
}

// maxRecent is how many of them a Status has.
const maxRecent = 20

// moments are an event's last ones by their ids, some more than a Status has.
type moments map[record.ID]Moment

// note keeps a fact with its present outcome.
func (m moments) note(k *record.Kind, st *table.Stored, at time.Time, is outcome.Outcome) {
	m[st.ID] = Moment{ID: k.FormatID(st.ID), At: at, Door: value.Unquote(st.Body.Member("door")), Outcome: is, Key: table.IntOf(st.Body.Member("key_id"))}
	if len(m) < 4*maxRecent {
		return
	}
	keep := m.latest()
	clear(m)
	for _, one := range keep {
		id, _ := k.ParseID(one.ID) // it was made by FormatID
		m[id] = one
	}
}

// latest are the last ones, the latest first.
func (m moments) latest() []Moment {
	all := make([]Moment, 0, len(m))
	for _, one := range m {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Moment) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID)) })
	return all[:min(len(all), maxRecent)]
}
