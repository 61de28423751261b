package office

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"doorward/kv/access"
	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// ReadCentre reads which centre the store has, and what the centre takes from it.
func ReadCentre(s *table.Set) error {
	return s.Engine.View(func(r *engine.View) error {
		row, err := r.Get(table.MetaBucket, table.CentreKey)
		s.Identity.SetCentre(string(row))
		if err != nil {
			return table.Identified(table.CentreKey, err)
		}
		u, err := table.ReadUpstream(&table.View{View: r})
		s.Identity.SetUpstream(&u)
		if errors.Is(err, engine.ErrCorrupt) {
			return nil // a caller that asks for the centre gets this error; until then it is unknown what the centre takes
		}
		return err
	})
}

// mayEnrol returns a *Conflict if this store is a laptop. A laptop passes on only its own facts (sync.md §1), so the facts of a second
// laptop behind it would never reach the centre.
func (of *Desk) mayEnrol() error {
	if !of.tables.Identity.IsLeaf() {
		return nil
	}
	where := "at the centre"
	if u := of.tables.Identity.Upstream(); u.URL != "" {
		where += ", " + u.URL
	}
	return &table.Conflict{Reason: "laptops are enrolled " + where + ": this store has joined it itself, and a second laptop here opens the pages of this one"}
}

// SpotsFor returns the databases of a record that p writes, with p's ties to them.
func SpotsFor(v *table.View, p auth.Principal, k *record.Kind, all [2]scopes.Scope) (spots [2]access.Spot, err error) {
	for i, s := range all {
		if s.Sort == 0 || err != nil {
			continue
		}
		spots[i].Scope = s
		spots[i].Tie, err = WriterTie(v, p, k, s)
	}
	return spots, err
}

// WriterTie returns p's tie to a scope that it writes to. A laptop may be enrolled for an event outside its level, or may have had the
// event before.
func WriterTie(v *table.View, p auth.Principal, k *record.Kind, s scopes.Scope) (access.Tie, error) {
	tie, err := entry.TieToScope(v, p, s)
	held := tie == access.Own && !p.IsWhole()
	seenFact := tie == access.Churchless && k != nil && k.Fact // whether the laptop has the event along does not matter
	if err != nil || !p.IsLaptop() || !s.Sort.OfEvent() || held || seenFact {
		return tie, err
	}
	return enrolledTie(v, p, s.ID, tie)
}

// enrolledTie returns the tie of a laptop to an event outside its level, by its enrolments.
func enrolledTie(v *table.View, p auth.Principal, event int64, tie access.Tie) (access.Tie, error) {
	along, err := hasAlong(v, p, event)
	seen := tie&(access.Own|access.Churchless) != 0
	switch {
	case err != nil || tie == access.Churchless && !along:
		return tie, err
	case seen && along:
		return access.Guest, nil
	}
	had := along
	if !had {
		had, err = wasOfIts(v, p, event)
	}
	switch {
	case err != nil || !had:
		return tie, err
	case tie == access.New:
		return access.Gone, nil
	case along:
		return access.Lent, nil
	}
	return access.Had, nil
}

// hasAlong tells whether a laptop is or was enrolled for an event by its number.
func hasAlong(v *table.View, p auth.Principal, event int64) (bool, error) {
	return anyEnrolment(v, p, func(e *Enrolled) (bool, error) {
		return slices.Contains(e.Events, event) || e.Level.Name == auth.EventOf && slices.Contains(e.Level.IDs, event), nil
	})
}

// HadEvent tells whether an event is or was of one of a laptop's churches, or the laptop is or was enrolled for it. The event may have
// moved or been deleted.
func HadEvent(v *table.View, p auth.Principal, event int64) (bool, error) {
	had, err := wasOfIts(v, p, event)
	if err != nil || had {
		return had, err
	}
	return hasAlong(v, p, event)
}

// wasOfIts tells whether an event is or was of one of a laptop's churches.
func wasOfIts(v *table.View, p auth.Principal, event int64) (bool, error) {
	return anyEnrolment(v, p, func(e *Enrolled) (bool, error) { return wasOf(v, e.Level, event) })
}

// wasOf tells whether an event is or was of one of a level's churches.
func wasOf(v *table.View, l auth.Level, event int64) (bool, error) {
	id := record.Int(event)
	st, err := v.LoadAny(record.Event, id)
	if err != nil || st == nil || l.Name != auth.ChurchOf {
		return false, err
	}
	for _, church := range l.IDs {
		s := scopes.Scope{Sort: scopes.Church, ID: church}
		left, err := v.Get(table.LeftBucket, table.LeftKey(record.Event, id, s))
		if err != nil || left != nil || st.In(s) {
			return err == nil, err
		}
	}
	return false, nil
}

// replacedName is the name of a store that was replaced (Replace), and of a log that was set aside.
var replacedName = regexp.MustCompile(`^doorward-[0-9]{8}T[0-9]{6}Z(-[0-9]+)?\.(db|log)$`)

// IsOwnName tells whether only a store gives this name to a file in its folder. No other file may have it there.
func IsOwnName(name string) bool {
	return name == filepath.Base(table.Path("")) || engine.IsOwnName(name) || name == table.VerifyName || slices.Contains(table.Beside[:], name) ||
		replacedName.MatchString(name) || strings.HasPrefix(name, disk.OwnPrefix)
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

// enrolledBefore returns the enrolment of the same laptop that ended when this one began; nil = there is none.
func enrolledBefore(v *table.View, e *Enrolled) (*Enrolled, error) {
	for _, id := range table.IDsOf(v, record.Node) {
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
