package office

import (
	"fmt"
	"slices"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// Along are the names of the databases that a laptop pulls from its centre. Both sides decide by them what of a file of all records is the
// laptop's: the centre when it writes one for the laptop, and the laptop when it reads one.
type Along []string

// Takes reports whether a laptop takes a record of a kind along that is in a database. It takes what the centre would give it there: a
// laptop of events takes only those kinds of the reference that all levels read. It takes no record of the server's own, as keys and orders
// are: these come from the centre itself. A kind that this version does not know is nil.
func (a Along) Takes(k *record.Kind, database string) bool {
	scope, ok := scopes.Parse(database)
	switch {
	case database == table.Mirror: // of a record that is in no other database
		return slices.Contains(a, database) && (k == nil || k.Class != record.System)
	case !ok, k != nil && !slices.Contains(record.KindsIn(scope.Sort), k):
		return false
	case slices.Contains(a, table.Mirror):
		return true
	case scope.Sort == scopes.Reference && !a.OfChurch() && (k == nil || k.Class != record.Everyones):
		return false
	}
	return slices.Contains(a, database)
}

// OfChurch reports whether the laptop is one of churches, or a mirror; otherwise it is one of events.
func (a Along) OfChurch() bool {
	return slices.Contains(a, scopes.Scope{Sort: scopes.ReferenceFinance}.String())
}

// TakesSort reports whether the laptop takes databases of a sort.
func (a Along) TakesSort(sort scopes.Sort) bool {
	return slices.ContainsFunc(a, func(name string) bool {
		s, _ := scopes.Parse(name) // of the mirror it is zero
		return s.Sort == sort
	})
}

// AlongOf returns what the laptop with an id takes along. It returns ErrNotFound, or *Forbidden for a laptop that is revoked.
func (of *Desk) AlongOf(p auth.Principal, id int64) (a Along, err error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	err = of.tables.View(func(v *table.View) error {
		e, err := enrolled(v, record.Int(id))
		switch {
		case err != nil:
			return err
		case !e.Revoked.IsZero():
			return table.Refused(fmt.Sprintf("laptop %d is revoked: it gets nothing more", id))
		}
		for _, db := range ExchangedOf(v, &e) {
			if db.Pull {
				a = append(a, db.Name)
			}
		}
		return nil
	})
	return a, err
}
