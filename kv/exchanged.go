package kv

import (
	"slices"
	"time"

	"doorward/kv/record"
)

// Exchanged is a database that a laptop exchanges with its centre.
type Exchanged struct {
	Name       string
	Push, Pull bool
	Guest      bool // of the records in it the laptop changes those alone that it has made, until somebody else has
	Over       bool // its event has been over for so long that the laptop is to drop it
}

// Exchanged lists the databases that the laptop of a key exchanges with this store, those of an event as over from some time after
// its end on; 0 = never. ErrNotFound for a key of another class.
func (s *Store) Exchanged(p Principal, overAfter time.Duration) (all []Exchanged, err error) {
	doubted := s.judgeClock(s.clock()) != ""
	err = s.view(func(v *sight) error {
		e, err := v.venueOf(p)
		if err != nil {
			return err
		}
		all = v.exchanged(&e)
		for i := range all {
			scope, _ := record.ParseScope(all[i].Name) // of the mirror it is zero
			guest, err := v.isGuestIn(p, scope)
			if err != nil {
				return err
			}
			all[i].Guest = guest && all[i].Push
		}
		if overAfter == 0 || doubted || e.Venue.Mirror {
			return nil // a mirror keeps everything
		}
		for i := range all {
			if all[i].Over, err = v.ended(&e, all[i].Name, overAfter); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// ended tells a database of an event that has ended some time ago. A laptop that joins later has it for as long from then on.
func (v *sight) ended(e *Enrolled, database string, after time.Duration) (bool, error) {
	scope, _ := record.ParseScope(database)
	if !scope.Sort.OfEvent() {
		return false, nil
	}
	event, err := v.load(record.Event, record.Int(scope.ID))
	if err != nil || event == nil {
		return false, err
	}
	last, ok := timeOf(event.body.Member("end_datetime"))
	if last.Before(e.Joined) {
		last = e.Joined
	}
	return ok && v.now.After(last.Add(after)), nil
}

func (v *sight) exchanged(e *Enrolled) (all []Exchanged) {
	add := func(sort record.ScopeSort, id int64, push, pull bool) {
		all = append(all, Exchanged{Name: record.Scope{Sort: sort, ID: id}.String(), Push: push, Pull: pull})
	}
	add(record.ScopeReference, 0, false, true)
	if e.Level.Name == EventOf {
		for _, id := range e.Level.IDs {
			add(record.ScopeEvent, id, true, true)
			add(record.ScopeEventNames, id, true, e.Venue.Names)
			add(record.ScopeEventHolders, id, true, false)
		}
		return all
	}
	add(record.ScopeReferenceFinance, 0, false, true)
	if e.Venue.Mirror {
		all = append(all, Exchanged{Name: mirror, Pull: true})
	}
	for _, id := range e.Level.IDs {
		add(record.ScopeChurch, id, true, true)
		if e.Venue.Finance {
			add(record.ScopeChurchFinance, id, true, true)
		}
	}
	for _, id := range v.eventsOf(e) {
		add(record.ScopeEvent, id, true, true)
		add(record.ScopeEventNames, id, true, e.Venue.Names)
		add(record.ScopeEventHolders, id, true, true)
	}
	return all
}

// TakesAll tells a laptop that takes along all events of its churches, also those that are made later.
func (e *Enrolled) TakesAll() bool { return len(e.Events) == 0 && e.Level.Name == ChurchOf }

// eventsOf are the events that a laptop of church level takes along. One that it was enrolled for may be another church's by now.
func (v *sight) eventsOf(e *Enrolled) (ids []int64) {
	if !e.TakesAll() {
		return slices.DeleteFunc(slices.Clone(e.Events), func(id int64) bool {
			sees, err := v.seesEvent(Principal{level: e.Level}, id)
			return err == nil && !sees // of what is damaged whoever reads it is told
		})
	}
	home := v.lists.kind(record.Event).home
	for _, church := range e.Level.IDs {
		list := home.of(church)
		for _, id := range list.page(nil, 0, list.len()) {
			ids = append(ids, id.Int())
		}
	}
	slices.Sort(ids)
	return ids
}
