package office

import (
	"slices"
	"time"

	"doorward/kv/access"
	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// Exchanged is a database that a laptop exchanges with its centre.
type Exchanged struct {
	Name       string
	Push, Pull bool
	Guest      bool      // the laptop changes only records that it has made itself, until another node changes them
	Drop       bool      // the laptop drops it: the event is over, or is another church's now
	Left       bool      // the event has left the laptop's churches: the laptop drops it once the doors are quiet
	Due        time.Time // when the drop is due by this store's clock, if the event is over; zero = at once
}

// DropNotice is the longest time between the announcement that a laptop drops an event and the drop.
const DropNotice = 24 * time.Hour

// Exchanged lists the databases that the laptop of a key exchanges with this store. The laptop drops the databases of an event when
// overAfter has passed since its end, 0 = never; this is announced before. Exchanged returns ErrNotFound for a key of another class.
func (of *Desk) Exchanged(p auth.Principal, overAfter time.Duration) (all []Exchanged, err error) {
	doubted := of.tables.Clock.Judge(of.tables.Clock.Now()) != ""
	err = of.tables.View(func(v *table.View) error {
		e, err := LaptopOf(v, p)
		if err != nil {
			return err
		}
		all = ExchangedOf(v, &e)
		for i := range all {
			scope, _ := scopes.Parse(all[i].Name) // of the mirror it is zero
			tie, err := WriterTie(v, p, nil, scope)
			if err != nil {
				return err
			}
			all[i].Guest = access.IsGuest(p, access.Spot{Scope: scope, Tie: tie})
		}
		if overAfter == 0 || doubted || e.Venue.Mirror {
			return nil // a mirror keeps everything
		}
		notice := min(DropNotice, overAfter)
		for i := range all {
			last, ok, err := ended(v, &e, all[i].Name)
			if err != nil {
				return err
			}
			if due := last.Add(overAfter); ok && v.Now.After(due.Add(-notice)) {
				all[i].Drop, all[i].Due = true, due
			}
		}
		return nil
	})
	return all, err
}

// ended returns when the event of a database ends; ok is false for other databases. For a laptop that joined after the end, the time
// begins when it joined.
func ended(v *table.View, e *Enrolled, database string) (last time.Time, ok bool, err error) {
	scope, _ := scopes.Parse(database)
	if !scope.Sort.OfEvent() {
		return last, false, nil
	}
	last, ok, err = endOf(v, scope.ID)
	if last.Before(e.Joined) {
		last = e.Joined
	}
	return last, ok, err
}

// endOf returns when an event ends; ok is false if the event is not here, or has no end.
func endOf(v *table.View, event int64) (end time.Time, ok bool, err error) {
	st, err := v.Load(record.Event, record.Int(event))
	if err != nil || st == nil {
		return end, false, err
	}
	_, end = entry.SpanOf(st)
	return end, !end.IsZero(), nil
}

// EventTimes are the times by which a laptop decides whether to drop an event.
type EventTimes struct {
	End     time.Time // zero = the event is not here
	Scanned time.Time // when this store last took a fact of it, by its own clock; zero = it has none
}

// EventTimes returns when an event ends and when a ticket was last scanned there, as far as this store knows. It returns *Forbidden.
func (of *Desk) EventTimes(p auth.Principal, event int64) (t EventTimes, err error) {
	if err := p.CheckWhole(); err != nil {
		return t, err
	}
	err = of.tables.View(func(v *table.View) error {
		if t.End, _, err = endOf(v, event); err == nil {
			t.Scanned, err = table.ScannedAt(v, event)
		}
		return err
	})
	return t, err
}

// ExchangedOf lists the databases that a laptop exchanges, by its enrolment alone.
func ExchangedOf(v *table.View, e *Enrolled) (all []Exchanged) {
	add := func(sort scopes.Sort, id int64, push, pull bool) {
		all = append(all, Exchanged{Name: scopes.Scope{Sort: sort, ID: id}.String(), Push: push, Pull: pull})
	}
	ofEvents := e.Level.Name == auth.EventOf
	add(scopes.Reference, 0, false, true)
	if !ofEvents {
		add(scopes.ReferenceFinance, 0, false, true)
		if e.Venue.Mirror {
			all = append(all, Exchanged{Name: table.Mirror, Pull: true})
		}
		for _, id := range e.Level.IDs {
			add(scopes.Church, id, true, true)
			if e.Venue.Finance {
				add(scopes.ChurchFinance, id, true, true)
			}
		}
	}
	for _, id := range eventsOf(v, e) {
		add(scopes.Event, id, true, true)
		add(scopes.EventNames, id, true, e.Venue.Names)
		add(scopes.EventHolders, id, true, !ofEvents)
		if !e.Venue.Names { // a laptop with the names derives the labels
			add(scopes.EventLabels, id, false, true)
		}
	}
	return all
}

// TakesAll tells whether a laptop takes along all events of its churches, also events that are made later.
func (e *Enrolled) TakesAll() bool { return len(e.Events) == 0 && e.Level.Name == auth.ChurchOf }

// eventsOf lists the events that a laptop takes along. At church level it leaves out an event that is another church's by now.
func eventsOf(v *table.View, e *Enrolled) (ids []int64) {
	if e.Level.Name == auth.EventOf {
		return e.Level.IDs
	}
	if !e.TakesAll() {
		return slices.DeleteFunc(slices.Clone(e.Events), func(id int64) bool {
			sees, err := entry.SeesEvent(v, auth.Key{Level: e.Level}.Principal(), id)
			return err == nil && !sees // a damaged event stays in the list; reading it reports the damage
		})
	}
	home := v.Lists.Kind(record.Event).Home
	for _, church := range e.Level.IDs {
		list := home.Of(church)
		for _, id := range list.Page(nil, 0, list.Len()) {
			ids = append(ids, id.Int())
		}
	}
	slices.Sort(ids)
	return ids
}

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
	begins, ends := entry.SpanOf(st)
	return !now.Before(begins.Add(-doorsOpen)) && now.Before(ends.Add(doorsOpen))
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
		for _, id := range held {
			if slices.Contains(known, id) {
				continue
			}
			had, err := HadEvent(v, p, id)
			if err != nil {
				return err
			}
			left, err := hasLeft(v, &e, id)
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

// hasLeft tells whether an event that a laptop does not take along any more has moved or was deleted: the event was of one of the laptop's
// churches, or is among those that the laptop is enrolled for. An event that a laptop was enrolled for before has not left: the laptop was
// sent to another event.
func hasLeft(v *table.View, e *Enrolled, event int64) (bool, error) {
	if slices.Contains(e.Events, event) {
		return true, nil
	}
	if was, err := wasOf(v, e.Level, event); err != nil || !was {
		return false, err
	}
	st, err := v.Load(record.Event, record.Int(event))
	return st == nil || !e.Level.Has(entry.Member(st.Body, "church_id").Int()), err
}
