package kv

import (
	"slices"
	"time"

	"doorward/kv/record"
	"doorward/kv/scopes"
)

// HeldEvents are the events of which the store holds more than the event itself: tickets, their names or holders, or facts. *Forbidden.
func (s *Store) HeldEvents(p Principal) (ids []int64, err error) {
	held, err := s.held(p, scopes.Sort.OfEvent)
	for _, scope := range held {
		ids = append(ids, scope.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// ReadyEvents are the first of those events whose doors a store that has joined a centre can serve: it holds the event and more than that. At
// a store without a centre, which has all events, it is nil.
func (s *Store) ReadyEvents(most int) (ids []int64, err error) {
	if !s.isLeaf() {
		return nil, nil
	}
	held, err := s.HeldEvents(Operator())
	if err != nil {
		return nil, err
	}
	ids = []int64{}
	err = s.view(func(v *sight) error {
		for _, id := range held {
			st, err := v.load(record.Event, record.Int(id))
			if err != nil {
				return err
			}
			if st != nil && len(ids) < most {
				ids = append(ids, id)
			}
		}
		return nil
	})
	return ids, err
}

// doorsOpen is how long before its beginning and after its end an event is in progress.
const doorsOpen = 3 * time.Hour

// InProgress tells whether an event of which this store holds tickets or facts is in progress: from three hours before it begins until three
// hours after it ends, and within an hour of the last attempt at a door, whatever the event says. *Forbidden.
func (s *Store) InProgress(p Principal) (is bool, err error) {
	held, err := s.HeldEvents(p)
	if err != nil || len(held) == 0 || s.engine.DoorWithin(doorsQuiet) {
		return len(held) > 0, err
	}
	err = s.view(func(v *sight) error {
		for _, id := range held {
			st, err := v.load(record.Event, record.Int(id))
			if err != nil {
				return err
			}
			is = is || st != nil && inProgress(st, v.now)
		}
		return nil
	})
	return is, err
}

// inProgress tells whether an event is in progress.
func inProgress(st *stored, now time.Time) bool {
	begins, begun := timeOf(st.body.Member("start_datetime"))
	ends, ended := timeOf(st.body.Member("end_datetime"))
	return begun && ended && !now.Before(begins.Add(-doorsOpen)) && now.Before(ends.Add(doorsOpen))
}

// Holdings are the databases of churches and events of which the store holds more than events themselves, by name. *Forbidden.
func (s *Store) Holdings(p Principal) (names []string, err error) {
	held, err := s.held(p, func(sort scopes.Sort) bool {
		return sort.OfEvent() || sort == scopes.Church || sort == scopes.ChurchFinance
	})
	for _, scope := range held {
		names = append(names, scope.String())
	}
	slices.Sort(names)
	return names, err
}

// held are the scopes of some sorts that have records besides events themselves: an event is in its church, too.
func (s *Store) held(p Principal, such func(scopes.Sort) bool) (all []scopes.Scope, err error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	err = s.view(func(v *sight) error {
		for _, chunk := range v.lists.count {
			if chunk == nil {
				continue
			}
			for _, c := range chunk.counts {
				if c.live+c.deleted == 0 || !such(c.scope.Sort) {
					continue
				}
				holds, err := holdsMore(v, c.scope)
				if err != nil {
					return err
				}
				if holds {
					all = append(all, c.scope)
				}
			}
		}
		return nil
	})
	return all, err
}

// holdsMore tells that a scope has records besides events themselves.
func holdsMore(v *sight, s scopes.Scope) (holds bool, err error) {
	prefix := appendScope(nil, s)
	err = v.Scan(scopeLogBucket, prefix, nil, func(key, row []byte) (bool, error) {
		c, err := parseScopeLog(0, row)
		holds = err == nil && !c.removed && c.Kind != record.Event
		return err == nil && !holds, err
	})
	return holds, err
}

// Departed are the databases of those events that the laptop of a key holds though they have left its churches, or it was enrolled for them
// before: it drops them once this store has what it made of them, be it for staff. A mirror keeps all it has, and only brings its facts.
// ErrNotFound for a key of another class.
func (s *Store) Departed(p Principal, held []int64) (all []Exchanged, err error) {
	err = s.view(func(v *sight) error {
		e, err := laptopOf(v, p)
		if err != nil {
			return err
		}
		known := eventsOf(v, &e)
		if e.Level.Name == EventOf {
			known = e.Level.IDs
		}
		for _, id := range held {
			if slices.Contains(known, id) {
				continue
			}
			had, err := hadEvent(v, p, id)
			if err != nil {
				return err
			}
			left, err := hasLeft(v, e.Level, id)
			if err != nil {
				return err
			}
			for _, sort := range []scopes.Sort{scopes.Event, scopes.EventNames, scopes.EventHolders} {
				if had && (sort == scopes.Event || !e.Venue.Mirror) {
					all = append(all, Exchanged{Name: scopes.Scope{Sort: sort, ID: id}.String(), Push: true, Drop: !e.Venue.Mirror, Left: left})
				}
			}
		}
		return nil
	})
	return all, err
}

// hasLeft tells an event that was of one of a level's churches and is of none of them now. One that a laptop was enrolled for before has not
// left: the laptop was sent to another event.
func hasLeft(v *sight, l Level, event int64) (bool, error) {
	if was, err := wasOf(v, l, event); err != nil || !was {
		return false, err
	}
	st, err := v.load(record.Event, record.Int(event))
	return st == nil || !l.Has(member(st.body, "church_id").Int()), err
}
