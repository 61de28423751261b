package docs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/keys"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// arrive reads a document to write: *Conflict for a new edit whose parent is no leaf, ErrDocument, *Forbidden.
func (db *scopeDocs) arrive(o *table.Tx, p auth.Principal, in *merge.DocWrite) (a *merge.Arrival, err error) {
	k, id, ok := record.ParseDocID(in.ID)
	if !ok {
		return nil, table.Refused(auth.NoKind.String())
	}
	a = &merge.Arrival{Kind: k, ID: id, Path: in.Path, Via: db.scope}
	if a.Before, err = o.LoadAny(k, id); err != nil {
		return nil, err
	}
	if a.Before != nil {
		if a.Tree, err = table.LoadTree(o.View, k, a.Before); err != nil {
			return nil, err
		}
	}
	if a.Unseen, err = db.hides(p, a, in); err != nil {
		return nil, err
	}
	a.Node = in.Authored(o)
	if a.Path == nil {
		if a.Path, err = a.Edit(in); err != nil {
			return nil, err
		}
	}
	if len(a.Path) == 0 {
		return nil, fmt.Errorf("%w: %w", merge.ErrDocument, rev.ErrPath)
	}
	if err = a.Read(in); err == nil {
		err = sign(o, p, a, in)
	}
	return a, err
}

// hides tells that a record is there which p does not see in the database and of which in names no revision: nothing that is
// answered may tell it from none. What a laptop brings under its own revisions is judged by whose it is.
func (db *scopeDocs) hides(p auth.Principal, a *merge.Arrival, in *merge.DocWrite) (bool, error) {
	if a.Before == nil || p.IsOperator() || p.IsLaptop() && in.Path != nil || a.Tree.Has(in.Parent) || slices.ContainsFunc(in.Path, a.Tree.Has) {
		return false, nil
	}
	if !db.holds(a.Kind, a.Before) {
		return true, nil
	}
	err := db.maySee(p)
	if errors.Is(err, auth.ErrForbidden) {
		return true, nil
	}
	return false, err
}

// sign says who made the revision. A laptop is believed that one of the keys which work there has made it, and nothing else: it
// pushes what it made itself. While the store takes back what a backup did not have, others may have made it.
func sign(o *table.Tx, p auth.Principal, a *merge.Arrival, in *merge.DocWrite) error {
	if p.IsOperator() {
		return nil
	}
	a.Node.Into = 0 // nobody but the root merges, and what it did comes by our own replicator
	if !p.IsLaptop() {
		a.Node, a.Lost = rev.Node{Deleted: a.Node.Deleted, Held: true, At: o.Stamp, Key: p.Key()}, nil
		return nil
	}
	if in.Author.Node != (ulid.ULID{}) && in.Author.Node.String() != p.Node() {
		if recovers, err := table.Recovers(o); err != nil || recovers {
			return err
		}
	}
	a.Node.Node, _ = ulid.ParseStrict(p.Node()) // a key's node is one
	works, err := worksAt(o.View, p, a.Node.Key)
	if !works {
		a.Node.Key = p.Key()
	}
	return err
}

// worksAt tells whether a key may have been used at the laptop of p: none, which is the operator there, a key that the laptop
// has or had itself, one that the centre gave it to know, and one that was made there.
func worksAt(v *table.View, p auth.Principal, key int64) (bool, error) {
	if key == 0 || key == p.Key() {
		return true, nil
	}
	st, err := v.Load(record.APIKey, record.Int(key))
	if err != nil || st == nil {
		return key >= record.FirstDrawn, err
	}
	k, _, err := keys.ReadKey(st)
	if err != nil || k.Node.Node == p.Node() {
		return err == nil, nil // whose record is damaged has signed nothing that could be shown
	}
	if works, err := office.GoesTo(v, p, nil, &k); err != nil || works {
		return works, err
	}
	e, err := office.LaptopOf(v, p)
	if errors.Is(err, table.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return office.GoesTo(v, p, e.Contact.Events, &k)
}
