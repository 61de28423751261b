package docs

import (
	"cmp"
	"doorward/kv/access"
	"slices"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// scopeAccess says what a principal may read and write in the database of a scope; the zero scope is all records.
type scopeAccess struct {
	v      *table.View
	scope  scopes.Scope
	reader auth.Principal // that maySee or mayWrite has judged
}

// maySee returns nil if p may read every record of the database (sync.md §1). From then on p is the reader.
func (a *scopeAccess) maySee(p auth.Principal) error {
	if err := p.Check("sync", "GET"); err != nil {
		return err
	}
	a.reader = p
	if err := a.inReach(p); err != nil {
		return err
	}
	if p.IsOperator() {
		return nil // a replicator fills a database before its church or event arrives
	}
	if p.IsLaptop() {
		return a.exists()
	}
	for _, k := range a.kinds() {
		if k.Class == record.Everyones {
			continue
		}
		if err := p.Check(k.Resource, "GET"); err != nil {
			return err
		}
	}
	return a.exists()
}

// inReach returns nil if the database is within p's level and class.
func (a *scopeAccess) inReach(p auth.Principal) error {
	tie, err := entry.TieToScope(a.v, p, a.scope)
	if err == nil && !access.Opens(p, access.Spot{Scope: a.scope, Tie: tie}) {
		err = &auth.Forbidden{CurrentScopes: []string{}, Reason: "the database lies beyond the key's level or class"}
	}
	return err
}

// exists returns ErrNotFound if the database is of a church or an event that never existed.
func (a *scopeAccess) exists() error {
	k := record.Event
	switch a.scope.Sort {
	case 0, scopes.Reference, scopes.ReferenceFinance:
		return nil
	case scopes.Church, scopes.ChurchFinance:
		k = record.Church
	}
	st, err := a.v.LoadAny(k, record.Int(a.scope.ID))
	if err == nil && st == nil {
		err = table.ErrNotFound
	}
	return err
}

// kinds lists the kinds of the records that the reader sees in the database, by name.
func (a *scopeAccess) kinds() []*record.Kind {
	all := record.KindsIn(a.scope.Sort)
	if a.scope.Sort == 0 {
		all = slices.Clone(record.Kinds())
	}
	all = slices.DeleteFunc(all, func(k *record.Kind) bool { return !a.shows(k) })
	slices.SortFunc(all, func(a, b *record.Kind) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}

// shows tells whether the reader sees records of a kind here. A reader of event level sees only those kinds of the reference that all
// readers see. nil is a kind that this version does not know.
func (a *scopeAccess) shows(k *record.Kind) bool {
	return a.scope.Sort != scopes.Reference || access.Reads(a.reader, k, access.Spot{Scope: a.scope, Tie: access.Own})
}

// holds tells whether a record is in the database and the reader sees it there.
func (a *scopeAccess) holds(k *record.Kind, st *table.Stored) bool {
	return st != nil && a.shows(k) && (a.scope.Sort == 0 || st.In(a.scope))
}

// spot is the database, with p's tie to it as a writer.
func (a *scopeAccess) spot(p auth.Principal) (access.Spot, error) {
	tie, err := office.WriterTie(a.v, p, nil, a.scope)
	return access.Spot{Scope: a.scope, Tie: tie}, err
}

// find loads a record of the database, deleted or not; nil = the reader sees none here.
func (a *scopeAccess) find(doc string) (*record.Kind, *table.Stored, error) {
	k, id, ok := record.ParseDocID(doc)
	if !ok {
		return nil, nil, nil
	}
	st, err := a.v.LoadAny(k, id)
	if err != nil || !a.holds(k, st) {
		return k, nil, err
	}
	return k, st, nil
}

// mayWrite returns nil if p may write some documents: each document is judged alone, because a client gives up a database that
// refuses a whole push. A laptop may bring what it may not read: the holders of tickets that it sold, and its check-ins after it
// is revoked.
func (a *scopeAccess) mayWrite(p auth.Principal) error {
	if err := p.Check("sync", "POST"); err != nil {
		return err
	}
	a.reader = p
	if p.IsLaptop() {
		spot, err := a.spot(p)
		if err != nil || access.Offers(p, spot) {
			return cmp.Or(err, a.exists())
		}
	}
	return a.maySee(a.reader)
}
