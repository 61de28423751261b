package entry

import (
	"slices"
	"time"

	"doorward/kv/access"
	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// This file asks the rules of the desk (package access) which records a principal sees and which it may change. Everything else asks here.

// Sees tells whether p sees a stored record. A membership is seen where its person is there and its group is seen too.
func Sees(v *table.View, p auth.Principal, k *record.Kind, st *table.Stored) (bool, error) {
	tie, err := tieTo(v, p, k, st)
	if err != nil || !access.MayAtDesk(p, access.Read, k, tie) {
		return false, err
	}
	if k != record.Membership || p.IsWhole() {
		return true, nil
	}
	person, err := v.Load(record.Person, Member(st.Body, "person"))
	if err != nil || person == nil {
		return false, err
	}
	group, err := v.LoadRef(record.Group, Member(st.Body, "group_id"))
	if err != nil || group == nil {
		return false, err
	}
	return Sees(v, p, record.Group, group)
}

// SeesEvent tells whether p's level sees an event.
func SeesEvent(v *table.View, p auth.Principal, event int64) (bool, error) {
	tie, err := tieToEvent(v, p, event)
	return tie&(access.Own|access.Churchless) != 0, err
}

// HoldsChurch tells whether a church is one of p's own.
func HoldsChurch(v *table.View, p auth.Principal, church int64) (bool, error) {
	switch {
	case p.IsWhole():
		return true, nil
	case church == 0:
		return false, nil
	case p.IsOf(auth.ChurchOf):
		return p.Level().Has(church), nil
	case p.IsOf(auth.RegionalOf):
		st, err := v.LoadRef(record.Church, record.Int(church))
		return err == nil && st != nil && p.Level().Has(Member(st.Body, "regional_id").Int()), err
	}
	return false, nil
}

// Find loads a record that p sees; ErrNotFound for any other, the same for all reasons.
func Find(v *table.View, p auth.Principal, k *record.Kind, id record.ID) (*table.Stored, error) {
	st, err := v.Load(k, id)
	if err != nil || st == nil {
		return nil, table.OrNotFound(err)
	}
	if ok, err := Sees(v, p, k, st); err != nil || !ok {
		return nil, table.OrNotFound(err)
	}
	return st, nil
}

// MayCreate answers whether p's level writes records of a kind at all.
func MayCreate(p auth.Principal, k *record.Kind) error {
	if !access.DeskWrites(k) {
		return table.ErrNotFound
	}
	return access.CheckCreate(p, k)
}

// MayChange answers whether p may change a record that it sees: what belongs to no church is changed at denomination level. It returns
// ErrNotFound where the record's event is gone.
func MayChange(v *table.View, p auth.Principal, k *record.Kind, st *table.Stored) error {
	tie, err := tieTo(v, p, k, st)
	switch {
	case err != nil:
		return err
	case access.MayAtDesk(p, access.Change, k, tie):
		return nil
	case tie == access.New:
		return table.ErrNotFound
	}
	return p.LacksLevel(auth.Denomination)
}

// Member reads a reference out of a body; the zero id for null.
func Member(b record.Body, name string) record.ID { return record.Int(value.Int(b.Member(name))) }

// tieTo tells how p's level stands to the church or the event that a record belongs to.
func tieTo(v *table.View, p auth.Principal, k *record.Kind, st *table.Stored) (access.Tie, error) {
	switch {
	case p.IsWhole(), k.Class == record.Everyones, k.Class == record.Finances, k.Class == record.System:
		return access.Own, nil
	case k.Class == record.Events:
		return tieToEvent(v, p, st.Home(k))
	case k == record.Event && p.IsOf(auth.EventOf):
		return ownOr(p.Level().Has(st.ID.Int()), nil)
	case st.Home(k) == 0:
		return access.Churchless, nil
	}
	return ownOr(HoldsChurch(v, p, st.Home(k)))
}

// TieToScope tells how p's level stands to the church or the event of a scope.
func TieToScope(v *table.View, p auth.Principal, s scopes.Scope) (access.Tie, error) {
	switch {
	case s.Sort == scopes.Church, s.Sort == scopes.ChurchFinance:
		return ownOr(HoldsChurch(v, p, s.ID))
	case s.Sort.OfEvent():
		return tieToEvent(v, p, s.ID)
	}
	return access.Own, nil
}

// tieToEvent tells how p's level stands to an event.
func tieToEvent(v *table.View, p auth.Principal, event int64) (access.Tie, error) {
	if p.IsWhole() || p.IsOf(auth.EventOf) && p.Level().Has(event) {
		return access.Own, nil
	}
	st, err := v.Load(record.Event, record.Int(event))
	switch {
	case err != nil:
		return 0, err
	case st == nil:
		return access.New, nil
	case p.IsOf(auth.EventOf):
		return access.Foreign, nil
	}
	return tieTo(v, p, record.Event, st)
}

func ownOr(own bool, err error) (access.Tie, error) {
	if own {
		return access.Own, err
	}
	return access.Foreign, err
}

// AsError is nil, or the *Forbidden of a verdict that refuses.
func AsError(verdict access.Verdict) error {
	if verdict.Refuses() {
		return table.Refused(verdict.String())
	}
	return nil
}

// LevelWithin tells whether all that a level sees, p sees.
func LevelWithin(v *table.View, p auth.Principal, l auth.Level) (bool, error) {
	switch {
	case p.IsWhole():
		return true, nil
	case l.Name == p.Level().Name:
		return !slices.ContainsFunc(l.IDs, func(id int64) bool { return !p.Level().Has(id) }), nil
	case l.Name.IsAbove(p.Level().Name):
		return false, nil
	}
	for _, id := range l.IDs {
		ok, err := homeWithin(v, p, l.Name, id)
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// homeWithin tells whether a church or an event is p's own. An event without a church belongs to the denomination alone.
func homeWithin(v *table.View, p auth.Principal, name auth.LevelName, id int64) (bool, error) {
	if name == auth.ChurchOf {
		return HoldsChurch(v, p, id)
	}
	event, err := v.Load(record.Event, record.Int(id))
	if err != nil || event == nil {
		return false, err
	}
	return HoldsChurch(v, p, event.Home(record.Event))
}

// SpanOf returns when an event begins and ends; zero for a time that it does not have. An event that was put off may still have the end of
// its first day. It ends no earlier than it begins.
func SpanOf(event *table.Stored) (begins, ends time.Time) {
	begins, _ = table.TimeOf(event.Body.Member("start_datetime"))
	ends, _ = table.TimeOf(event.Body.Member("end_datetime"))
	if ends.Before(begins) {
		ends = begins
	}
	return begins, ends
}
