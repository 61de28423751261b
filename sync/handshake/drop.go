package handshake

import (
	"slices"
	"time"

	"doorward/kv"
	"doorward/kv/record"
)

// Drop is a database that a laptop shall drop.
type Drop struct {
	Name  string    `json:"name"`
	Due   time.Time `json:"due,omitzero"`      // by the centre's clock, if its event is over; zero = at once
	After int64     `json:"after_ms,omitzero"` // milliseconds from the end of the event to Due
	Left  bool      `json:"left,omitzero"`     // its event has left the laptop's churches: it goes once no ticket was scanned for a while
}

// NewDrop makes a Drop of what the centre decides; after is how long after its end an event is dropped.
func NewDrop(x kv.Exchanged, after time.Duration) Drop {
	d := Drop{Name: x.Name, Due: x.Due, Left: x.Left}
	if !d.Due.IsZero() {
		d.After = after.Milliseconds()
	}
	return d
}

// StillExchanged tells whether a laptop still exchanges a database that it shall drop: its event is over or has left, and the laptop holds
// it.
func StillExchanged(x kv.Exchanged, now time.Time, held []int64) bool {
	scope, _ := record.ParseScope(x.Name) // it is one of an event
	return (x.Left || !x.Due.IsZero()) && (now.Before(x.Due) || slices.Contains(held, scope.ID))
}

// DropsByEvent returns the databases to be dropped, by event. It leaves out names that this version does not know.
func (g *Greeting) DropsByEvent() map[int64][]Drop {
	events := map[int64][]Drop{}
	for _, d := range g.Drop {
		if scope, ok := record.ParseScope(d.Name); ok && scope.Sort.OfEvent() {
			events[scope.ID] = append(events[scope.ID], d)
		}
	}
	return events
}

// Delay returns how long after the end of its event a database is dropped.
func (d Drop) Delay() time.Duration { return time.Duration(d.After) * time.Millisecond }

// Kept returns the databases that keep their records when an event is dropped. A church has its events too. A laptop of event level has no
// events but its own.
func Kept(pulls []string) []string {
	if !slices.Contains(pulls, "reference-finance") {
		return nil
	}
	return pulls
}

// Kept returns the databases that keep their records when one is dropped. An event that has left its church takes its own record along.
func (g *Greeting) Kept(name string) []string {
	if slices.ContainsFunc(g.Drop, func(d Drop) bool { return d.Name == name && d.Left }) {
		return nil
	}
	return Kept(slices.DeleteFunc(g.Pulls(), g.IsDropped))
}

// IsDropped tells whether a database shall be dropped.
func (g *Greeting) IsDropped(name string) bool {
	return slices.ContainsFunc(g.Drop, func(d Drop) bool { return d.Name == name })
}
