package office

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// ReadCentre reads which centre the store has, and what that takes.
func ReadCentre(s *table.Set) error {
	return s.Engine.View(func(r *engine.View) error {
		row, err := r.Get(table.MetaBucket, table.CentreKey)
		centre := string(row)
		s.CentreID.Store(&centre)
		if err != nil {
			return table.Identified(table.CentreKey, err)
		}
		u, err := table.ReadUpstream(&table.View{View: r})
		s.Joined.Store(&u)
		if errors.Is(err, engine.ErrCorrupt) {
			return nil // a caller that asks for the centre gets this error; until then it is unknown what the centre takes
		}
		return err
	})
}

// mayEnrol returns a *Conflict if laptops cannot be enrolled: a laptop hands on no facts but its own (sync.md §1), so those of one
// that had joined it would never come to the centre.
func (of *Desk) mayEnrol() error {
	if !of.tables.IsLeaf() {
		return nil
	}
	where := "at the centre"
	if u := of.tables.Joined.Load(); u.URL != "" {
		where += ", " + u.URL
	}
	return &table.Conflict{Reason: "laptops are enrolled " + where + ": this store has joined it itself, and a second laptop here opens the pages of this one"}
}

// SpotsFor are the databases of a record that p writes, with p's ties to them.
func SpotsFor(v *table.View, p auth.Principal, k *record.Kind, all [2]scopes.Scope) (spots [2]auth.Spot, err error) {
	for i, s := range all {
		if s.Sort == 0 || err != nil {
			continue
		}
		spots[i].Scope = s
		spots[i].Tie, err = WriterTie(v, p, k, s)
	}
	return spots, err
}

// WriterTie tells how p stands to a scope that it writes to: a laptop may have been enrolled for an event that its level does not hold, or
// may have had it before.
func WriterTie(v *table.View, p auth.Principal, k *record.Kind, s scopes.Scope) (auth.Tie, error) {
	tie, err := entry.TieToScope(v, p, s)
	held := tie == auth.Own && !p.IsWhole()
	seenFact := tie == auth.Nobodys && k != nil && k.Fact // whether the laptop has the event along does not matter
	if err != nil || !p.IsLaptop() || !s.Sort.OfEvent() || held || seenFact {
		return tie, err
	}
	return enrolledTie(v, p, s.ID, tie)
}

// enrolledTie is the tie to an event that a laptop's level does not hold, by its enrolments.
func enrolledTie(v *table.View, p auth.Principal, event int64, tie auth.Tie) (auth.Tie, error) {
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
func hasAlong(v *table.View, p auth.Principal, event int64) (bool, error) {
	return anyEnrolment(v, p, func(e *Enrolled) (bool, error) {
		return slices.Contains(e.Events, event) || e.Level.Name == auth.EventOf && slices.Contains(e.Level.IDs, event), nil
	})
}

// HadEvent tells whether an event is or was of one of a laptop's churches, or one that it was enrolled for: moved and deleted ones too.
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
	return name == filepath.Base(table.Path("")) || name == engine.RewriteName || name == engine.LogName || name == table.VerifyName || slices.Contains(table.Beside[:], name) ||
		replacedName.MatchString(name) || strings.HasPrefix(name, disk.OwnPrefix)
}
