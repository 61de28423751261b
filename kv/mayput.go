package kv

import (
	"errors"
	"slices"

	"doorward/kv/record"
	"doorward/kv/scopes"
)

// mayPut returns nil if p's class puts records of a kind into a scope. It is the only place that decides this (sync.md §1); /v1
// and /admin follow the same rule. What p may do to an existing record, and by which methods, is checked elsewhere.
func mayPut(v *sight, p Principal, k *record.Kind, s scopes.Scope) error {
	rule, eventLevel := writeRules[k], p.level.Name == EventOf
	var ok bool
	var err error
	switch {
	case p.operator:
		return nil
	case p.revoked && !k.Fact:
		return refused("the laptop is revoked")
	case p.isNode() && (eventLevel && !rule.event || !eventLevel && !rule.church || rule.money && !p.node.Finance):
		return refused("a laptop of this level does not write this kind")
	}
	switch {
	case s.Sort == scopes.Church, s.Sort == scopes.ChurchFinance:
		ok, err = holdsChurch(v, p, s.ID)
	case s.Sort.OfEvent():
		ok, err = mayPutInEvent(v, p, k, s.ID)
	}
	return allowed(ok, err, "the key may not write where the record would belong")
}

// mayPutInEvent is mayPut for the scopes of an event. Only the denomination changes the records of an event without a church. A
// principal that sees the event brings its facts. So does a laptop that had the event: it may have admitted people before it
// learned that the event had left. A laptop of a church that takes the event along sells tickets there as a laptop of the event
// does.
func mayPutInEvent(v *sight, p Principal, k *record.Kind, event int64) (bool, error) {
	if k.Fact {
		if ok, err := seesEvent(v, p, event); err != nil || ok {
			return ok, err
		}
		return hadEvent(v, p, event)
	}
	ok, err := changesEvent(v, p, event)
	switch {
	case errors.Is(err, ErrNotFound):
		return k == record.Event && p.level.Name != EventOf, nil // a new event: its church's scope decides
	case err != nil || ok:
		return ok, err
	}
	return hasAlong(v, p, k, event)
}

// hasAlong tells whether laptops write this kind at an event, and whether p was enrolled for that event besides its church, or was before.
func hasAlong(v *sight, p Principal, k *record.Kind, event int64) (bool, error) {
	if !writeRules[k].event {
		return false, nil
	}
	return anyEnrolment(v, p, func(e *Enrolled) (bool, error) {
		return slices.Contains(e.Events, event) || e.Level.Name == EventOf && slices.Contains(e.Level.IDs, event), nil
	})
}

// hadEvent tells whether an event is or was of one of a laptop's churches, or one that it was enrolled for: moved and deleted ones too.
func hadEvent(v *sight, p Principal, event int64) (bool, error) {
	had, err := anyEnrolment(v, p, func(e *Enrolled) (bool, error) { return wasOf(v, e.Level, event) })
	if err != nil || had {
		return had, err
	}
	return hasAlong(v, p, record.Ticket, event)
}

// wasOf tells whether an event is or was of one of a level's churches.
func wasOf(v *sight, l Level, event int64) (bool, error) {
	id := record.Int(event)
	st, err := v.loadAny(record.Event, id)
	if err != nil || st == nil || l.Name != ChurchOf {
		return false, err
	}
	for _, church := range l.IDs {
		s := scopes.Scope{Sort: scopes.Church, ID: church}
		left, err := v.Get(leftBucket, leftKey(record.Event, id, s))
		if err != nil || left != nil || st.in(s) {
			return err == nil, err
		}
	}
	return false, nil
}

// isGuest tells that p writes an arrival as a laptop of an event does: only what it has made itself. That is so where the record is, too.
func isGuest(v *sight, p Principal, a *arrival) (bool, error) {
	scopes := []scopes.Scope{a.via}
	if a.before != nil {
		scopes = append(scopes, a.before.scopes[:]...)
	}
	for _, s := range scopes {
		if guest, err := isGuestIn(v, p, s); err != nil || guest {
			return guest, err
		}
	}
	return false, nil
}

// isGuestIn tells whether p is a laptop of an event, or takes along an event of none of its churches. It returns false for an
// event that is gone.
func isGuestIn(v *sight, p Principal, s scopes.Scope) (bool, error) {
	switch {
	case !p.isNode():
		return false, nil
	case p.level.Name == EventOf:
		return true, nil
	case !s.Sort.OfEvent():
		return false, nil
	}
	ok, err := changesEvent(v, p, s.ID)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && !ok, err
}

// changesEvent tells whether p may see and change an event. It returns ErrNotFound if the event does not exist.
func changesEvent(v *sight, p Principal, event int64) (bool, error) {
	if err := mayChangeEvent(v, p, event); err != nil {
		return false, onlyFailure(err)
	}
	return seesEvent(v, p, event)
}

// puts tells whether p's class puts records of some kind into the database.
func (db *scopeDocs) puts(p Principal, such func(*record.Kind) bool) (bool, error) {
	for _, k := range record.KindsIn(db.scope.Sort) {
		if !such(k) {
			continue
		}
		if err := mayPut(db.v, p, k, db.scope); !errors.Is(err, ErrForbidden) {
			return err == nil, err
		}
	}
	return false, nil
}

// judgeScopes wants a revision to be of the database that it came through, and all that it touches to be for p.
func (db *scopeDocs) judgeScopes(o *op, p Principal, a *arrival) error {
	next, err := scopesOfArrival(o, a)
	if err != nil {
		return err
	}
	if a.before != nil {
		ok, err := mayPutAll(o.sight, p, a.kind, a.before.scopes)
		if err := allowed(ok, err, "the record has moved to where the key may not write"); err != nil {
			return err
		}
	}
	ok, err := mayPutAll(o.sight, p, a.kind, next)
	if err := allowed(ok, err, "the key may not write where the record would belong"); err != nil {
		return err
	}
	if !p.isNode() {
		if err := mayLeave(o, a.kind, a.before, next); err != nil {
			return err
		}
	}
	if !slices.Contains(next[:], db.scope) && (a.before == nil || !a.before.in(db.scope)) {
		return refused("the record belongs to another database")
	}
	return nil
}

// mayPutAll is mayPut for all scopes of a record. It returns false for a record in no scope.
func mayPutAll(v *sight, p Principal, k *record.Kind, all [2]scopes.Scope) (bool, error) {
	for _, s := range all {
		if s.Sort == 0 {
			continue
		}
		if err := mayPut(v, p, k, s); err != nil {
			return false, onlyFailure(err)
		}
	}
	return all != [2]scopes.Scope{}, nil
}

// allowed returns err if the store failed, or a refusal if ok is false.
func allowed(ok bool, err error, reason string) error {
	if err != nil || ok {
		return err
	}
	return refused(reason)
}
