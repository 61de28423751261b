package kv

import (
	"errors"
	"slices"

	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/value"
)

// HoldsMore is a folder that holds databases which its code does not give, as one that replicate has filled: no erasure, no end of an
// event and no revocation would ever take them out of it again.
type HoldsMore struct{ Databases []string }

func (h *HoldsMore) Error() string {
	return "the folder holds more than its code gives (" + fault.Listed(h.Databases) + "): join with a new folder, or by a code that gives these too"
}

// givesAll returns a *HoldsMore if a laptop brings databases of churches and events that are not its own. A database that is
// unknown or deleted here has no owner: a laptop may bring it to a centre that was restored.
func givesAll(o *op, p Principal, holds []string) error {
	e, err := laptopOf(o.sight, p)
	if err != nil {
		return err
	}
	given := exchanged(o.sight, &e)
	var more []string
	for _, name := range holds {
		if slices.ContainsFunc(given, func(db Exchanged) bool { return db.Name == name || db.Name == mirror }) {
			continue
		}
		foreign, err := isForeign(o, p, name)
		if err != nil {
			return err
		}
		if foreign {
			more = append(more, name)
		}
	}
	if len(more) > 0 {
		return &HoldsMore{more}
	}
	return nil
}

// isForeign tells whether a database is of a church or an event that exists here. It is false for an event that the laptop had and drops.
func isForeign(o *op, p Principal, name string) (bool, error) {
	k := record.Church
	scope, _ := scopes.Parse(name)
	if scope.Sort.OfEvent() {
		k = record.Event
	}
	st, err := o.load(k, record.Int(scope.ID))
	if err != nil || st == nil || k == record.Church {
		return st != nil, err
	}
	had, err := hadEvent(o.sight, p, scope.ID)
	return !had, err
}

// anyEnrolment calls fn with the enrolment of a laptop's key and with its earlier enrolments, until fn returns true. The laptop
// may still hand over what it made under an enrolment that ended when the next began. An earlier enrolment that staff have
// revoked is left out.
func anyEnrolment(v *sight, p Principal, fn func(*Enrolled) (bool, error)) (bool, error) {
	if !p.IsLaptop() {
		return false, nil
	}
	e, err := laptopOf(v, p)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	for at := &e; err == nil && at != nil; at, err = enrolledBefore(v, at) {
		if is, err := fn(at); err != nil || is {
			return is, err
		}
	}
	return false, err
}

// enrolledBefore is the enrolment that ended as one of the same laptop began; nil: there is none.
func enrolledBefore(v *sight, e *Enrolled) (*Enrolled, error) {
	for _, id := range idsOf(v, record.Node) {
		st, err := v.load(record.Node, id)
		if err != nil || st == nil {
			return nil, err
		}
		began, _ := timeOf(st.body.Member("joined_at")) // null: not at all
		ended, ok := timeOf(st.body.Member("revoked_at"))
		if ok && ended.Equal(e.Joined) && began.Before(ended) && value.Unquote(st.body.Member("node")) == e.Venue.Node {
			was, err := enrolled(v, id)
			return &was, err
		}
	}
	return nil, nil
}
