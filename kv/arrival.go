package kv

import (
	"errors"
	"fmt"
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/value"
)

// maxRecordDoc is how many bytes a record's document may have.
const maxRecordDoc = 1 << 20

// fitting answers ErrTooLarge for a record that was written and that no other store would take: then nothing is.
func fitting(st *stored, err error) (*stored, error) {
	if err == nil && len("{,}")+len(st.body.Shown)+len(st.body.Hidden) > maxRecordDoc {
		return nil, ErrTooLarge
	}
	return st, err
}

// arrival is a revision of a record that somebody has made elsewhere, or in another way than by a patch.
type arrival struct {
	kind    *record.Kind
	id      record.ID
	path    []rev.ID     // newest first
	node    rev.Node     // of the first
	doc     *record.Doc  // nil: it deletes the record
	body    record.Body  // of doc
	lost    *record.Doc  // of a deletion: an edit that ended with it; nil: none
	ready   readyLookups // of doc
	foreign bool         // the revision is not made of the body
	late    bool         // it was made before the names were erased that doc does not have any more
	via     scopes.Scope // of the database that it came through; zero: the mirror
	before  *stored      // the record as it is; nil: new
	unseen  bool         // whoever brings it cannot know that there is a record
	guest   ulid.ULID    // the laptop that brings it, where it may bring only what it has made itself
	tree    rev.Tree     // before the arrival
}

// arrive reads a document to write: *Conflict for a new edit whose parent is no leaf, ErrDocument, *Forbidden.
func (db *scopeDocs) arrive(o *op, p Principal, in *DocWrite) (a *arrival, err error) {
	k, id, ok := record.ParseDocID(in.ID)
	if !ok {
		return nil, refused(auth.NoKind.String())
	}
	a = &arrival{kind: k, id: id, path: in.Path, via: db.scope}
	if a.before, err = o.loadAny(k, id); err != nil {
		return nil, err
	}
	if a.before != nil {
		if a.tree, err = loadTree(o.sight, k, a.before); err != nil {
			return nil, err
		}
	}
	if a.unseen, err = db.hides(p, a, in); err != nil {
		return nil, err
	}
	a.node = in.authored(o)
	if a.path == nil {
		if a.path, err = a.edit(in); err != nil {
			return nil, err
		}
	}
	if len(a.path) == 0 {
		return nil, fmt.Errorf("%w: %w", ErrDocument, rev.ErrPath)
	}
	if err = a.read(in); err == nil {
		err = sign(o, p, a, in)
	}
	return a, err
}

// hides tells that a record is there which p does not see in the database and of which in names no revision: nothing that is
// answered may tell it from none. What a laptop brings under its own revisions is judged by whose it is.
func (db *scopeDocs) hides(p Principal, a *arrival, in *DocWrite) (bool, error) {
	if a.before == nil || p.IsOperator() || p.IsLaptop() && in.Path != nil || a.tree.Has(in.Parent) || slices.ContainsFunc(in.Path, a.tree.Has) {
		return false, nil
	}
	if !db.holds(a.kind, a.before) {
		return true, nil
	}
	err := db.maySee(p)
	if errors.Is(err, ErrForbidden) {
		return true, nil
	}
	return false, err
}

// authored is the tree's node of a revision, with what its server tells of who made it.
func (in *DocWrite) authored(o *op) rev.Node {
	n := rev.Node{Deleted: in.Deleted, Held: true, Key: in.Author.Key, Node: in.Author.Node, Fields: in.Author.Fields}
	if n.Node.String() == o.store.identity.node {
		n.Node = ulid.ULID{} // it comes home
	}
	if !in.Author.At.IsZero() {
		n.At = in.Author.At.UnixMicro()
	}
	return n
}

// edit is the path of a new edit.
func (a *arrival) edit(in *DocWrite) ([]rev.ID, error) {
	parent := in.Parent
	if parent == (rev.ID{}) && a.before != nil && a.before.deleted && !in.Deleted {
		parent = a.before.revision // a record that was deleted is made again
	}
	if parent != (rev.ID{}) || a.before != nil && !a.unseen {
		isLeaf := false
		for _, leaf := range a.tree.Leaves() {
			isLeaf = isLeaf || leaf.Revision == parent
		}
		if !isLeaf {
			return nil, &Conflict{Reason: "the document has another revision"}
		}
	}
	return append([]rev.ID{rev.Next(parent, in.Deleted, a.hashed(in))}, a.tree.Path(parent)...), nil
}

// hashed is the body inside the revision's hash: a deletion has none.
func (a *arrival) hashed(in *DocWrite) []byte {
	if in.Deleted {
		return nil
	}
	return in.canonical
}

// sign says who made the revision. A laptop is believed that one of the keys which work there has made it, and nothing else: it
// pushes what it made itself. While the store takes back what a backup did not have, others may have made it.
func sign(o *op, p Principal, a *arrival, in *DocWrite) error {
	if p.IsOperator() {
		return nil
	}
	a.node.Into = 0 // nobody but the root merges, and what it did comes by our own replicator
	if !p.IsLaptop() {
		a.node, a.lost = rev.Node{Deleted: a.node.Deleted, Held: true, At: o.stamp, Key: p.Key()}, nil
		return nil
	}
	if in.Author.Node != (ulid.ULID{}) && in.Author.Node.String() != p.Node() {
		if recovers, err := recovers(o); err != nil || recovers {
			return err
		}
	}
	a.node.Node, _ = ulid.ParseStrict(p.Node()) // a key's node is one
	works, err := worksAt(o.sight, p, a.node.Key)
	if !works {
		a.node.Key = p.Key()
	}
	return err
}

// worksAt tells whether a key may have been used at the laptop of p: none, which is the operator there, a key that the laptop
// has or had itself, one that the centre gave it to know, and one that was made there.
func worksAt(v *sight, p Principal, key int64) (bool, error) {
	if key == 0 || key == p.Key() {
		return true, nil
	}
	st, err := v.load(record.APIKey, record.Int(key))
	if err != nil || st == nil {
		return key >= record.FirstDrawn, err
	}
	k, _, err := readKey(st)
	if err != nil || k.Node.Node == p.Node() {
		return err == nil, nil // whose record is damaged has signed nothing that could be shown
	}
	if works, err := goesTo(v, p, nil, &k); err != nil || works {
		return works, err
	}
	e, err := laptopOf(v, p)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return goesTo(v, p, e.Contact.Events, &k)
}

// read opens the body.
func (a *arrival) read(in *DocWrite) (err error) {
	if in.Deleted {
		a.node.Ended = string(in.canonical) == endedBody
		a.node.Into = record.MergedInto(a.kind, a.id, in.canonical)
		return a.readLost(in.canonical)
	}
	if in.opened == nil {
		in.open(a.kind)
	}
	a.doc, a.body, a.ready, a.foreign = in.opened.doc, in.opened.body, in.opened.ready, in.opened.foreign
	return in.opened.err
}

// flag marks a fact. It keeps the revision that it came under: wherever it goes from here it is the same fact.
func (a *arrival) flag(word string) {
	if flags := texts(a.doc.Value("flags")); !slices.Contains(flags, word) {
		a.doc.Set("flags", value.Texts(append(flags, word)...))
		a.remake(a.doc)
	}
}

// remake gives the revision another body than it came with.
func (a *arrival) remake(d *record.Doc) {
	a.doc, a.body, a.ready, a.foreign = d, d.Encode(), nil, true
}

// nameFields names the fields that an arrival changes: those in which it differs from the latest revision before it that is here. Of one
// edit its own server may have named them. Of several that come as one, only the last is named by it.
func nameFields(o *op, a *arrival) error {
	if a.doc == nil || a.before == nil || a.late {
		return nil
	}
	i := slices.IndexFunc(a.path, a.tree.Has)
	if i < 1 || i == 1 && len(a.node.Fields) > 0 {
		return nil
	}
	was, err := docOf(o.sight, a.kind, a.before, a.path[i])
	if err != nil || was == nil {
		return err
	}
	for _, name := range a.doc.Differs(was) {
		if !slices.Contains(a.node.Fields, name) {
			a.node.Fields = append(slices.Clip(a.node.Fields), name)
		}
	}
	return nil
}

// isKnown tells a revision that the record has already.
func (a *arrival) isKnown() bool { return a.tree.Has(a.path[0]) }

// refused is a *Forbidden of one document.
func refused(reason string) error {
	return &Forbidden{CurrentScopes: []string{}, Reason: reason}
}

// scopes are where the revision puts the record. A membership whose person is not here yet is where it came from.
func scopesOfArrival(o *op, a *arrival) (all [2]scopes.Scope, err error) {
	if a.doc == nil {
		if a.before != nil {
			return a.before.scopes, nil
		}
		all[0] = a.via
		return all, nil
	}
	home, err := homeOf(o, a.kind, a.doc)
	if err != nil {
		return all, err
	}
	if a.kind == record.Membership && home == 0 && a.via.Sort == scopes.Church {
		home = a.via.ID
	}
	copy(all[:], a.kind.Scopes(a.id, a.doc, home))
	return all, nil
}
