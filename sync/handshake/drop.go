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
	Due   time.Time `json:"due,omitzero"`      // by the centre's clock, where its event is over; zero = at once
	After int64     `json:"after_ms,omitzero"` // how long after the end of the event that is, in milliseconds
	Left  bool      `json:"left,omitzero"`     // its event has left the laptop's churches: it goes once its doors are quiet
}

func NewDrop(x kv.Exchanged, after time.Duration) Drop {
	d := Drop{Name: x.Name, Due: x.Due, Left: x.Left}
	if !d.Due.IsZero() {
		d.After = after.Milliseconds()
	}
	return d
}

// StillExchanged tells whether a database is exchanged though the laptop shall drop it: its event is over or has left, and the laptop holds it.
func StillExchanged(x kv.Exchanged, now time.Time, held []int64) bool {
	scope, _ := record.ParseScope(x.Name) // it is one of an event
	return (x.Left || !x.Due.IsZero()) && (now.Before(x.Due) || slices.Contains(held, scope.ID))
}

// DropsByEvent are the databases that shall be dropped, by event. Names that this version does not know are left out.
func (g *Greeting) DropsByEvent() map[int64][]Drop {
	events := map[int64][]Drop{}
	for _, d := range g.Drop {
		if scope, ok := record.ParseScope(d.Name); ok && scope.Sort.OfEvent() {
			events[scope.ID] = append(events[scope.ID], d)
		}
	}
	return events
}

func (d Drop) Delay() time.Duration { return time.Duration(d.After) * time.Millisecond }

// Kept are those of the databases that a laptop is given whose records stay when an event goes: a church has its events too. A laptop
// of event level is given no events but its own.
func Kept(pulls []string) []string {
	if !slices.Contains(pulls, "reference-finance") {
		return nil
	}
	return pulls
}

// Kept are the databases whose records stay when one is dropped. An event that has left its church takes its own record along.
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
