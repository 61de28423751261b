package record

import (
	"bytes"
	"errors"
	"fmt"

	"doorward/kv/rev"
	"doorward/kv/value"
)

// ErrNotHeld is returned if the store does not have the body of a leaf.
var ErrNotHeld = errors.New("the body of a leaf is not held")

// MergedRevision returns the revision of a body merged from open leaves, which come in any order: a child of their winner.
func MergedRevision(open []rev.Node, merged *Doc) rev.ID {
	return rev.Next(rev.Best(open).Revision, false, merged.Canonical())
}

// Resolution says how the root resolves a conflict. To carry it out, the store does this in one operation:
//
//   - Revision is not Parent: it grafts Revision on Parent as a live leaf with the body Doc and the changed Fields. The author is the
//     root itself. Doc is the record from now on. If Revision is Parent, the winner stays as it is;
//   - Doc is nil: it shows the record as deleted;
//   - for each leaf of Ended: it grafts rev.Ending(leaf) on the leaf as a deleted leaf with Ended set, and keeps {"ended":true} as its
//     body;
//   - it lists Clashes for staff, and keeps the bodies that they are about until staff has looked at them;
//   - it gives the record one new row in the log, so that every peer learns of all new leaves.
//
// Afterwards at most one leaf is open, and Resolve returns nil. The same tree and bodies make the same revisions on every root.
type Resolution struct {
	Doc      *Doc     // the record; nil: it stays deleted
	Parent   rev.ID   // the winner; zero where Doc is nil
	Revision rev.ID   // of Doc: a child of Parent, or Parent itself where the merge has changed nothing; zero where Doc is nil
	Fields   []string // the fields in which Doc differs from the winner, in table order, unknown ones last
	Ended    []rev.ID // the leaves to end
	Clashes  []Clash
}

// Resolve merges a tree's open leaves into the winner, the best leaf first, each against the nearest common ancestor with a held body.
// body returns the body of a held revision, or nil if it is missing. Only an ancestor's body may be missing. Resolve returns nil if
// fewer than two leaves are open.
//
// A deletion against a change: the record stays deleted, and the whole change is a clash of rule rev.Delete. But an author that deletes
// one branch and goes on with another resolves the conflict by hand, as CouchDB's clients do: that deletion only ends the branch.
// All open leaves of a deleted record are ended, so a later write on any of them is not deleted for an old conflict. A record that was
// merged into another one (Tombstone) stays merged.
func Resolve(k *Kind, t *rev.Tree, body func(rev.ID) (*Doc, error)) (*Resolution, error) {
	open := t.Open()
	if len(open) < 2 {
		return nil, nil
	}
	r := resolver{k: k, t: t, body: body}
	var err error
	if deletes(t, open) {
		err = r.delete(open)
	} else {
		err = r.merge(open)
	}
	if err != nil {
		return nil, err
	}
	return &r.Resolution, nil
}

// deletes reports whether open leaves make a deleted record: one of them is deleted, and not by hand.
func deletes(t *rev.Tree, open []rev.Node) bool {
	for _, n := range open {
		if n.Deleted && !byHand(t, n, open) {
			return true
		}
	}
	return false
}

// byHand reports whether a deletion only ends a branch: its author wrote a live leaf beside it, and both follow from an older revision.
func byHand(t *rev.Tree, n rev.Node, open []rev.Node) bool {
	for _, live := range open {
		sameAuthor := n.Key != 0 && live.Key == n.Key && live.Node == n.Node
		if !live.Deleted && sameAuthor && t.Ancestor(n.Revision, live.Revision).Revision != n.Parent {
			return true
		}
	}
	return false
}

type resolver struct {
	k    *Kind
	t    *rev.Tree
	body func(rev.ID) (*Doc, error)
	Resolution
}

// leaf returns a live leaf's body.
func (r *resolver) leaf(rev rev.ID) (*Doc, error) {
	d, err := r.body(rev)
	if err == nil && d == nil {
		err = fmt.Errorf("%w: %s %s", ErrNotHeld, r.k.Name, rev)
	}
	return d, err
}

// delete ends every leaf and lists the live ones. It keeps the best leaf that names the record it was merged into.
func (r *resolver) delete(open []rev.Node) error {
	merged := false
	for _, n := range open {
		if n.Deleted && n.Into != 0 && !merged {
			merged = true
			continue
		}
		r.Ended = append(r.Ended, n.Revision)
		if n.Deleted {
			continue
		}
		d, err := r.leaf(n.Revision)
		if err != nil {
			return err
		}
		r.Clashes = append(r.Clashes, Clash{Other: d.Canonical(), Rule: rev.Delete, Leaf: n.Revision})
	}
	return nil
}

// merge merges the live leaves into the winner, and ends all others.
func (r *resolver) merge(open []rev.Node) error {
	r.Parent = open[0].Revision
	winner, err := r.leaf(r.Parent)
	if err != nil {
		return err
	}
	r.Doc, r.Revision = winner, r.Parent
	for _, n := range open[1:] {
		r.Ended = append(r.Ended, n.Revision)
		if !n.Deleted {
			err = r.take(n.Revision)
		}
		if err != nil {
			return err
		}
	}
	if !bytes.Equal(r.Doc.Canonical(), winner.Canonical()) {
		r.Revision, r.Fields = MergedRevision(open, r.Doc), r.Doc.Differs(winner)
	}
	return nil
}

// take merges one more leaf.
func (r *resolver) take(rev rev.ID) error {
	other, err := r.leaf(rev)
	if err != nil {
		return err
	}
	var base *Doc
	if n := r.t.Base(r.Parent, rev); n.Held {
		if base, err = r.body(n.Revision); err != nil {
			return err
		}
	}
	merged, clashes := Merge(r.k, base, r.Doc, other)
	for i := range clashes {
		clashes[i].Leaf = rev
	}
	r.Doc, r.Clashes = merged, append(r.Clashes, clashes...)
	return nil
}

// Differs returns the fields that have another value in another record of the kind: those of the table in its order, then those that
// this version does not know.
func (d *Doc) Differs(o *Doc) (names []string) {
	for i := range d.values {
		if f := &d.Kind.Fields[i]; f.Stored() && !value.Equal(d.values[i], o.values[i]) {
			names = append(names, f.Name)
		}
	}
	own, others := unknownOf(d), unknownOf(o)
	for _, side := range [2]*Doc{d, o} {
		for _, m := range side.extra {
			name := value.Unquote([]byte(m.Name))
			_, mine := own[name]
			if (side == d || !mine) && !value.Equal(own[name], others[name]) {
				names = append(names, name)
			}
		}
	}
	return names
}
