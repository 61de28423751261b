package office

import (
	"errors"
	"slices"

	"doorward/kv/auth"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
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
func givesAll(o *table.Tx, p auth.Principal, holds []string) error {
	e, err := LaptopOf(o.View, p)
	if err != nil {
		return err
	}
	given := ExchangedOf(o.View, &e)
	var more []string
	for _, name := range holds {
		if slices.ContainsFunc(given, func(db Exchanged) bool { return db.Name == name || db.Name == table.Mirror }) {
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
func isForeign(o *table.Tx, p auth.Principal, name string) (bool, error) {
	k := record.Church
	scope, _ := scopes.Parse(name)
	if scope.Sort.OfEvent() {
		k = record.Event
	}
	st, err := o.Load(k, record.Int(scope.ID))
	if err != nil || st == nil || k == record.Church {
		return st != nil, err
	}
	had, err := HadEvent(o.View, p, scope.ID)
	return !had, err
}

// anyEnrolment calls fn with the enrolment of a laptop's key and with its earlier enrolments, until fn returns true. The laptop
// may still hand over what it made under an enrolment that ended when the next began. An earlier enrolment that staff have
// revoked is left out.
func anyEnrolment(v *table.View, p auth.Principal, fn func(*Enrolled) (bool, error)) (bool, error) {
	if !p.IsLaptop() {
		return false, nil
	}
	e, err := LaptopOf(v, p)
	if errors.Is(err, table.ErrNotFound) {
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
func enrolledBefore(v *table.View, e *Enrolled) (*Enrolled, error) {
	for _, id := range table.IdsOf(v, record.Node) {
		st, err := v.Load(record.Node, id)
		if err != nil || st == nil {
			return nil, err
		}
		began, _ := table.TimeOf(st.Body.Member("joined_at")) // null: not at all
		ended, ok := table.TimeOf(st.Body.Member("revoked_at"))
		if ok && ended.Equal(e.Joined) && began.Before(ended) && value.Unquote(st.Body.Member("node")) == e.Venue.Node {
			was, err := enrolled(v, id)
			return &was, err
		}
	}
	return nil, nil
}
