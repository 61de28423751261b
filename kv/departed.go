package kv

import (
	"slices"

	"doorward/kv/record"
)

// HeldEvents are the events of which the store holds more than the event itself: tickets, their names or holders, or facts. *Forbidden.
func (s *Store) HeldEvents(p Principal) (ids []int64, err error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	err = s.view(func(v *sight) error {
		for _, chunk := range v.lists.count {
			if chunk == nil {
				continue
			}
			for _, c := range chunk.counts {
				holds, err := v.holdsMore(c)
				if err != nil {
					return err
				}
				if holds {
					ids = append(ids, c.scope.ID)
				}
			}
		}
		return nil
	})
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// holdsMore tells that a scope of an event has records besides the event itself, which its church has too.
func (v *sight) holdsMore(c scopeCount) (bool, error) {
	n := c.live + c.deleted
	if !c.scope.Sort.OfEvent() || n != 1 || c.scope.Sort != record.ScopeEvent {
		return c.scope.Sort.OfEvent() && n > 0, nil
	}
	st, err := v.loadAny(record.Event, record.Int(c.scope.ID))
	return err == nil && (st == nil || !st.in(c.scope)), err
}

// Departed are the databases of those events that the laptop of a key holds though they have left its churches, as if they were over:
// it drops them once this store has what it made of them, be it for staff. A mirror keeps all it has, and only brings its facts.
// ErrNotFound for a key of another class.
func (s *Store) Departed(p Principal, held []int64) (all []Exchanged, err error) {
	err = s.view(func(v *sight) error {
		e, err := v.venueOf(p)
		if err != nil || e.Level.Name == EventOf {
			return err
		}
		known := v.eventsOf(&e)
		for _, id := range held {
			if slices.Contains(known, id) {
				continue
			}
			had, err := v.hadEvent(p, id)
			if err != nil {
				return err
			}
			for _, sort := range []record.ScopeSort{record.ScopeEvent, record.ScopeEventNames, record.ScopeEventHolders} {
				if had && (sort == record.ScopeEvent || !e.Venue.Mirror) {
					all = append(all, Exchanged{Name: record.Scope{Sort: sort, ID: id}.String(), Push: true, Over: !e.Venue.Mirror})
				}
			}
		}
		return nil
	})
	return all, err
}
