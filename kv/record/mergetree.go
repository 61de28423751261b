package record

import (
	"bytes"
	"errors"
	"fmt"

	"doorward/kv/rev"
	"doorward/kv/value"
)

// ErrNotHeld is a leaf whose body the store does not have.
var ErrNotHeld = errors.New("the body of a leaf is not held")

// MergedRevision is the revision of a body merged from a tree's open leaves, given in any order: a child of their winner.
func MergedRevision(open []rev.Node, merged *Doc) rev.ID {
	return rev.Next(rev.Best(open).Revision, false, merged.Canonical())
}

// Resolution is what the root makes of a conflict. To carry it out, the store, in one operation,
//
//   - where Revision is not Parent: grafts Revision on Parent as a live leaf whose body is Doc and whose changed fields are
//     Fields, its author the root itself; Doc is the record from now on. Where Revision is Parent, the winner stands as it is;
//   - where Doc is nil: shows the record as deleted;
//   - for each of Ended: grafts Ending(leaf) on leaf as a deleted leaf with Ended set, and keeps {"ended":true} as its body;
//   - lists Clashes for staff. The bodies that they are about must be kept until staff has looked at them;
//   - gives the record one new row in the log: every peer learns of all the new leaves with it.
//
// Afterwards at most one leaf is open, and Resolve has nothing more to do. The same tree and bodies make the same revisions on
// every root.
type Resolution struct {
	Doc      *Doc     // the record; nil: it stays deleted
	Parent   rev.ID   // the winner; zero where Doc is nil
	Revision rev.ID   // of Doc: a child of Parent, or Parent itself where the merge has changed nothing; zero where Doc is nil
	Fields   []string // the fields in which Doc differs from the winner, in table order, unknown ones last
	Ended    []rev.ID // the leaves to end
	Clashes  []Clash
}

// Resolve merges a tree's open leaves into the winner, the best ones first, each against the nearest common ancestor whose body
// is held. body answers the body of a revision that is held; nil, which only an ancestor may be, where it is not after all.
// It answers nil where fewer than two leaves are open.
//
// A deletion against a change: the record stays deleted, and the change is a clash of rule rev.Delete that holds all of it. But
// who deletes a branch and goes on with another resolves the conflict by hand, as CouchDB's clients do: that ends the branch.
// All open leaves of a deleted record are ended, so that whoever writes it again, on whichever of them, is not deleted for
// what is already answered; but a record that was merged into another one (Tombstone) stays that.
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

// deletes tells open leaves that make a deleted record: one of them deletes it, by somebody else than who wrote a live one
// beside it, or before there was anything beside it.
func deletes(t *rev.Tree, open []rev.Node) bool {
	for _, n := range open {
		if n.Deleted && !byHand(t, n, open) {
			return true
		}
	}
	return false
}

// byHand tells a deletion that only ends a branch.
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

// leaf is a live leaf's body.
func (r *resolver) leaf(rev rev.ID) (*Doc, error) {
	d, err := r.body(rev)
	if err == nil && d == nil {
		err = fmt.Errorf("%w: %s %s", ErrNotHeld, r.k.Name, rev)
	}
	return d, err
}

// delete ends every leaf but the best of those that say what the record was merged into, and lists the live ones.
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

// take merges one more leaf into what there is.
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
