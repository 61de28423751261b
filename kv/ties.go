package kv

import (
	"slices"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/scopes"
)

// This file tells the rules (package auth) how a principal stands to a church or an event.

// tieTo tells how p's level stands to the church or the event that a record belongs to.
func tieTo(v *sight, p Principal, k *record.Kind, st *stored) (auth.Tie, error) {
	switch {
	case p.IsWhole(), k.Class == record.Everyones, k.Class == record.Finances, k.Class == record.System:
		return auth.Own, nil
	case k.Class == record.Events:
		return tieToEvent(v, p, st.home(k))
	case k == record.Event && p.IsOf(EventOf):
		return ownOr(p.Level().Has(st.id.Int()), nil)
	case st.home(k) == 0:
		return auth.Nobodys, nil
	}
	return ownOr(holdsChurch(v, p, st.home(k)))
}

// tieToScope tells how p's level stands to the church or the event of a scope.
func tieToScope(v *sight, p Principal, s scopes.Scope) (auth.Tie, error) {
	switch {
	case s.Sort == scopes.Church, s.Sort == scopes.ChurchFinance:
		return ownOr(holdsChurch(v, p, s.ID))
	case s.Sort.OfEvent():
		return tieToEvent(v, p, s.ID)
	}
	return auth.Own, nil
}

// tieToEvent tells how p's level stands to an event.
func tieToEvent(v *sight, p Principal, event int64) (auth.Tie, error) {
	if p.IsWhole() || p.IsOf(EventOf) && p.Level().Has(event) {
		return auth.Own, nil
	}
	st, err := v.load(record.Event, record.Int(event))
	switch {
	case err != nil:
		return 0, err
	case st == nil:
		return auth.New, nil
	case p.IsOf(EventOf):
		return auth.Foreign, nil
	}
	return tieTo(v, p, record.Event, st)
}

func ownOr(own bool, err error) (auth.Tie, error) {
	if own {
		return auth.Own, err
	}
	return auth.Foreign, err
}

// spotsFor are the databases of a record that p writes, with p's ties to them.
func spotsFor(v *sight, p Principal, k *record.Kind, all [2]scopes.Scope) (spots [2]auth.Spot, err error) {
	for i, s := range all {
		if s.Sort == 0 || err != nil {
			continue
		}
		spots[i].Scope = s
		spots[i].Tie, err = writerTie(v, p, k, s)
	}
	return spots, err
}

// writerTie tells how p stands to a scope that it writes to: a laptop may have been enrolled for an event that its level does not hold, or
// may have had it before.
func writerTie(v *sight, p Principal, k *record.Kind, s scopes.Scope) (auth.Tie, error) {
	tie, err := tieToScope(v, p, s)
	held := tie == auth.Own && !p.IsWhole()
	seenFact := tie == auth.Nobodys && k != nil && k.Fact // whether the laptop has the event along does not matter
	if err != nil || !p.IsLaptop() || !s.Sort.OfEvent() || held || seenFact {
		return tie, err
	}
	return enrolledTie(v, p, s.ID, tie)
}

// enrolledTie is the tie to an event that a laptop's level does not hold, by its enrolments.
func enrolledTie(v *sight, p Principal, event int64, tie auth.Tie) (auth.Tie, error) {
	along, err := hasAlong(v, p, event)
	seen := tie&(auth.Own|auth.Nobodys) != 0
	switch {
	case err != nil || tie == auth.Nobodys && !along:
		return tie, err
	case seen && along:
		return auth.Guest, nil
	}
	had := along
	if !had {
		had, err = wasOfIts(v, p, event)
	}
	switch {
	case err != nil || !had:
		return tie, err
	case tie == auth.New:
		return auth.Gone, nil
	case along:
		return auth.Lent, nil
	}
	return auth.Had, nil
}

// hasAlong tells whether a laptop was enrolled for an event besides its church, or was before.
func hasAlong(v *sight, p Principal, event int64) (bool, error) {
	return anyEnrolment(v, p, func(e *Enrolled) (bool, error) {
		return slices.Contains(e.Events, event) || e.Level.Name == EventOf && slices.Contains(e.Level.IDs, event), nil
	})
}

// hadEvent tells whether an event is or was of one of a laptop's churches, or one that it was enrolled for: moved and deleted ones too.
func hadEvent(v *sight, p Principal, event int64) (bool, error) {
	had, err := wasOfIts(v, p, event)
	if err != nil || had {
		return had, err
	}
	return hasAlong(v, p, event)
}

// wasOfIts tells whether an event is or was of one of a laptop's churches.
func wasOfIts(v *sight, p Principal, event int64) (bool, error) {
	return anyEnrolment(v, p, func(e *Enrolled) (bool, error) { return wasOf(v, e.Level, event) })
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

// spot is the database, with p's tie to it as a writer.
func (db *scopeDocs) spot(p Principal) (auth.Spot, error) {
	tie, err := writerTie(db.v, p, nil, db.scope)
	return auth.Spot{Scope: db.scope, Tie: tie}, err
}

// judge asks the rules about an arrival. The operator, as who this store's own replicator writes, has no ties.
func (db *scopeDocs) judge(o *op, p Principal, a *arrival) (auth.Verdict, error) {
	q := auth.Question{Verb: a.verb(), Kind: a.kind, Via: db.scope}
	if p.IsOperator() {
		return auth.May(p, q), nil
	}
	next, err := scopesOfArrival(o, a)
	if err == nil {
		q.To, err = spotsFor(o.sight, p, a.kind, next)
	}
	if err == nil && a.before != nil && !a.unseen {
		q.From, err = spotsFor(o.sight, p, a.kind, a.before.scopes)
	}
	return auth.May(p, q), err
}

// verb says what a revision does to its record. A record that the writer cannot know is none.
func (a *arrival) verb() auth.Verb {
	switch {
	case a.doc == nil:
		return auth.Delete
	case a.before == nil || a.unseen:
		if a.kind.Fact && (len(a.path) > 1 || a.path[0].Generation != 1) {
			return auth.Change
		}
		return auth.Make
	case a.before.deleted:
		return auth.Remake
	}
	return auth.Change
}

// asError is nil, or the *Forbidden of a verdict that refuses.
func asError(verdict auth.Verdict, err error) error {
	if err == nil && verdict.Refuses() {
		err = refused(verdict.String())
	}
	return err
}
