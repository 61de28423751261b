package entry

import (
	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// This file tells the rules (package auth) how a principal stands to a church or an event.

// tieTo tells how p's level stands to the church or the event that a record belongs to.
func tieTo(v *table.View, p auth.Principal, k *record.Kind, st *table.Stored) (auth.Tie, error) {
	switch {
	case p.IsWhole(), k.Class == record.Everyones, k.Class == record.Finances, k.Class == record.System:
		return auth.Own, nil
	case k.Class == record.Events:
		return tieToEvent(v, p, st.Home(k))
	case k == record.Event && p.IsOf(auth.EventOf):
		return ownOr(p.Level().Has(st.ID.Int()), nil)
	case st.Home(k) == 0:
		return auth.Nobodys, nil
	}
	return ownOr(HoldsChurch(v, p, st.Home(k)))
}

// TieToScope tells how p's level stands to the church or the event of a scope.
func TieToScope(v *table.View, p auth.Principal, s scopes.Scope) (auth.Tie, error) {
	switch {
	case s.Sort == scopes.Church, s.Sort == scopes.ChurchFinance:
		return ownOr(HoldsChurch(v, p, s.ID))
	case s.Sort.OfEvent():
		return tieToEvent(v, p, s.ID)
	}
	return auth.Own, nil
}

// tieToEvent tells how p's level stands to an event.
func tieToEvent(v *table.View, p auth.Principal, event int64) (auth.Tie, error) {
	if p.IsWhole() || p.IsOf(auth.EventOf) && p.Level().Has(event) {
		return auth.Own, nil
	}
	st, err := v.Load(record.Event, record.Int(event))
	switch {
	case err != nil:
		return 0, err
	case st == nil:
		return auth.New, nil
	case p.IsOf(auth.EventOf):
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

// AsError is nil, or the *Forbidden of a verdict that refuses.
func AsError(verdict auth.Verdict, err error) error {
	if err == nil && verdict.Refuses() {
		err = table.Refused(verdict.String())
	}
	return err
}
