package merge

import (
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/entry"
	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Arrival is a revision of a record that somebody has made elsewhere, or in another way than by a patch.
type Arrival struct {
	Kind    *record.Kind
	ID      record.ID
	Path    []rev.ID           // newest first
	Node    rev.Node           // of the first
	Doc     *record.Doc        // nil: it deletes the record
	body    record.Body        // of doc
	Lost    *record.Doc        // of a deletion: an edit that ended with it; nil: none
	ready   table.ReadyLookups // of doc
	foreign bool               // the revision is not made of the body
	Via     scopes.Scope       // of the database that it came through; zero: the mirror
	Before  *table.Stored      // the record as it is; nil: new
	Unseen  bool               // whoever brings it cannot know that there is a record
	Guest   ulid.ULID          // the laptop that brings it, where it may bring only what it has made itself
	Tree    rev.Tree           // before the arrival
}

// Authored is the tree's node of a revision, with what its server tells of who made it.
func (in *DocWrite) Authored(o *table.Tx) rev.Node {
	n := rev.Node{Deleted: in.Deleted, Held: true, Key: in.Author.Key, Node: in.Author.Node, Fields: in.Author.Fields}
	if n.Node.String() == o.Store.Identity.Node {
		n.Node = ulid.ULID{} // it comes home
	}
	if !in.Author.At.IsZero() {
		n.At = in.Author.At.UnixMicro()
	}
	return n
}

// Edit is the path of a new edit.
func (a *Arrival) Edit(in *DocWrite) ([]rev.ID, error) {
	parent := in.Parent
	if parent == (rev.ID{}) && a.Before != nil && a.Before.Deleted && !in.Deleted {
		parent = a.Before.Revision // a record that was deleted is made again
	}
	if parent != (rev.ID{}) || a.Before != nil && !a.Unseen {
		isLeaf := false
		for _, leaf := range a.Tree.Leaves() {
			isLeaf = isLeaf || leaf.Revision == parent
		}
		if !isLeaf {
			return nil, &table.Conflict{Reason: "the document has another revision"}
		}
	}
	return append([]rev.ID{rev.Next(parent, in.Deleted, a.hashed(in))}, a.Tree.Path(parent)...), nil
}

// hashed is the body inside the revision's hash: a deletion has none.
func (a *Arrival) hashed(in *DocWrite) []byte {
	if in.Deleted {
		return nil
	}
	return in.Content
}

// Read opens the body.
func (a *Arrival) Read(in *DocWrite) (err error) {
	if in.Deleted {
		a.Node.Ended = string(in.Content) == EndedBody
		a.Node.Into = record.MergedInto(a.Kind, a.ID, in.Content)
		return a.readLost(in.Content)
	}
	if in.opened == nil {
		in.open(a.Kind)
	}
	a.Doc, a.body, a.ready, a.foreign = in.opened.doc, in.opened.body, in.opened.ready, in.opened.foreign
	return in.opened.err
}

// Flag marks a fact. It keeps the revision that it came under: wherever it goes from here it is the same fact.
func (a *Arrival) Flag(word string) {
	if flags := keys.Texts(a.Doc.Value("flags")); !slices.Contains(flags, word) {
		a.Doc.Set("flags", value.Texts(append(flags, word)...))
		a.remake(a.Doc)
	}
}

// remake gives the revision another body than it came with.
func (a *Arrival) remake(d *record.Doc) {
	a.Doc, a.body, a.ready, a.foreign = d, d.Encode(), nil, true
}

// nameFields names the fields that an arrival changes: those in which it differs from the latest revision before it that is here. Of one
// edit its own server may have named them. Of several that come as one, only the last is named by it.
func nameFields(o *table.Tx, a *Arrival) error {
	if a.Doc == nil || a.Before == nil {
		return nil
	}
	i := slices.IndexFunc(a.Path, a.Tree.Has)
	if i < 1 || i == 1 && len(a.Node.Fields) > 0 {
		return nil
	}
	was, err := table.DocOf(o.View, a.Kind, a.Before, a.Path[i])
	if err != nil || was == nil {
		return err
	}
	for _, name := range a.Doc.Differs(was) {
		if !slices.Contains(a.Node.Fields, name) {
			a.Node.Fields = append(slices.Clip(a.Node.Fields), name)
		}
	}
	return nil
}

// IsKnown tells a revision that the record has already.
func (a *Arrival) IsKnown() bool { return a.Tree.Has(a.Path[0]) }

// scopes are where the revision puts the record. A membership whose person is not here yet is where it came from.
func ScopesOfArrival(o *table.Tx, a *Arrival) (all [2]scopes.Scope, err error) {
	if a.Doc == nil {
		if a.Before != nil {
			return a.Before.Scopes, nil
		}
		all[0] = a.Via
		return all, nil
	}
	home, err := table.HomeOf(o, a.Kind, a.Doc)
	if err != nil {
		return all, err
	}
	if a.Kind == record.Membership && home == 0 && a.Via.Sort == scopes.Church {
		home = a.Via.ID
	}
	copy(all[:], a.Kind.Scopes(a.ID, a.Doc, home))
	if a.Kind == record.HolderName {
		all[0].Sort, err = entry.SortOf(o.View, a.ID, record.Int(a.Doc.Int("ticket_id")), a.Via.Sort)
	}
	return all, err
}
