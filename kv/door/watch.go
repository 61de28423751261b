package door

import (
	"cmp"
	"slices"
	"time"

	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// EventChanged returns a channel that is closed by the next commit that changes an event, its tickets or its facts. The caller must call
// leave when it stops listening.
func (dk *Desk) EventChanged(event int64) (changed <-chan struct{}, leave func()) {
	return dk.tables.Bells.Hear(table.FeedName{Scope: scopes.Scope{Sort: scopes.Event, ID: event}})
}

// Moment is one of the last things that happened at an event's doors. It names no guest.
type Moment struct {
	ID      string    // of the check-in or refusal
	At      time.Time // by this machine's clock
	Door    string
	Outcome table.Outcome
	Key     int64 // that was used; 0 = the operator
}

// maxRecent is how many of them a Status has.
const maxRecent = 20

// moments are an event's last ones by their ids, some more than a Status has.
type moments map[record.ID]Moment

// note keeps a fact as what it counts as now.
func (m moments) note(k *record.Kind, st *table.Stored, at time.Time, is table.Outcome) {
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
