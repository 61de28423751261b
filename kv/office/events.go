package office

import (
	"slices"
	"time"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// HeldEvents lists the events of which the store holds more than the event itself: tickets, their names or holders, or facts. It returns
// *Forbidden.
func (of *Desk) HeldEvents(p auth.Principal) (ids []int64, err error) {
	held, err := of.Held(p, scopes.Sort.OfEvent)
	for _, scope := range held {
		ids = append(ids, scope.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// doorsOpen is how long before its beginning and after its end an event is in progress.
const doorsOpen = 3 * time.Hour

// InProgress tells whether an event is in progress.
func InProgress(st *table.Stored, now time.Time) bool {
	begins, begun := table.TimeOf(st.Body.Member("start_datetime"))
	ends, ended := table.TimeOf(st.Body.Member("end_datetime"))
	return begun && ended && !now.Before(begins.Add(-doorsOpen)) && now.Before(ends.Add(doorsOpen))
}

// Held lists the scopes of some sorts that hold other records than events: an event is in the scope of its church too. It returns
// *Forbidden.
func (of *Desk) Held(p auth.Principal, such func(scopes.Sort) bool) (all []scopes.Scope, err error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	err = of.tables.View(func(v *table.View) error {
		for _, chunk := range v.Lists.Count {
			if chunk == nil {
				continue
			}
			for _, c := range chunk.Counts {
				if c.Live+c.Deleted == 0 || !such(c.Scope.Sort) {
					continue
				}
				holds, err := holdsMore(v, c.Scope)
				if err != nil {
					return err
				}
				if holds {
					all = append(all, c.Scope)
				}
			}
		}
		return nil
	})
	return all, err
}

// holdsMore tells whether a scope holds other records than events.
func holdsMore(v *table.View, s scopes.Scope) (holds bool, err error) {
	prefix := table.AppendScope(nil, s)
	err = v.Scan(table.ScopeLogBucket, prefix, nil, func(key, row []byte) (bool, error) {
		c, err := table.ParseScopeLog(0, row)
		holds = err == nil && !c.Removed && c.Kind != record.Event
		return err == nil && !holds, err
	})
	return holds, err
}

// LeftEvents lists the databases of events that the laptop of a key holds and is not enrolled for any more: an event has left its churches,
// or the laptop was enrolled for another event. The laptop drops them once this store has everything that the laptop made there. A mirror
// drops nothing, and only brings its facts. LeftEvents returns ErrNotFound for a key of another class.
func (of *Desk) LeftEvents(p auth.Principal, held []int64) (all []Exchanged, err error) {
	err = of.tables.View(func(v *table.View) error {
		e, err := LaptopOf(v, p)
		if err != nil {
			return err
		}
		known := eventsOf(v, &e)
		if e.Level.Name == auth.EventOf {
			known = e.Level.IDs
		}
		for _, id := range held {
			if slices.Contains(known, id) {
				continue
			}
			had, err := HadEvent(v, p, id)
			if err != nil {
				return err
			}
			left, err := hasLeft(v, e.Level, id)
			if err != nil {
				return err
			}
			for _, sort := range []scopes.Sort{scopes.Event, scopes.EventNames, scopes.EventHolders, scopes.EventLabels} {
				if had && (sort == scopes.Event || !e.Venue.Mirror) {
					all = append(all, Exchanged{Name: scopes.Scope{Sort: sort, ID: id}.String(), Push: sort != scopes.EventLabels, Drop: !e.Venue.Mirror, Left: left})
				}
			}
		}
		return nil
	})
	return all, err
}

// hasLeft tells whether an event was of one of a level's churches and is of none of them now. An event that a laptop was enrolled for
// before has not left: the laptop was sent to another event.
func hasLeft(v *table.View, l auth.Level, event int64) (bool, error) {
	if was, err := wasOf(v, l, event); err != nil || !was {
		return false, err
	}
	st, err := v.Load(record.Event, record.Int(event))
	return st == nil || !l.Has(entry.Member(st.Body, "church_id").Int()), err
}
