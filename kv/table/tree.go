package table

import (
	"fmt"
	"slices"

	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/rev"
)

// keptBodies is how many of a tree's last revisions keep their bodies; those of all leaves are kept too. The winner's body is
// in the record's row, the others have rows of their own; a deleted one's is empty and has none.
const keptBodies = 10

// TreeKey names a record's tree.
func TreeKey(k *record.Kind, id record.ID) []byte { return k.AppendID([]byte{k.Number}, id) }

// tree is all that is known of a record's revisions. One that has only ever had this revision, made here, has no row: its header
// says it all.
func LoadTree(v *View, k *record.Kind, st *Stored) (rev.Tree, error) {
	row, err := v.Get(TreeBucket, TreeKey(k, st.ID))
	if err != nil {
		return rev.Tree{}, err
	}
	if row == nil {
		return st.derived(), nil
	}
	t, err := rev.ParseTree(row)
	if err != nil {
		return t, fmt.Errorf("%w: %s: %w", engine.ErrCorrupt, k.Name, err)
	}
	return t, nil
}

// derived is the tree of a record that has no row for one.
func (h *Header) derived() (t rev.Tree) {
	path := []rev.ID{h.Revision}
	if h.Revision.Generation > 1 {
		path = append(path, h.Before())
	}
	_, _ = t.Graft(path, rev.Node{Deleted: h.Deleted, Held: true, At: h.UpdatedAt, Key: h.UpdatedBy}) // it is a path
	return t
}

// branch adds a change made here to its record's tree and keeps the body that it replaces. A deletion ends all branches that
// replicas have made of the record.
func branch(o *Tx, c Edit, next *Stored) error {
	if c.Before == nil {
		return nil
	}
	t, err := LoadTree(o.View, c.Kind, c.Before)
	if err != nil {
		return err
	}
	node := rev.Node{Deleted: next.Deleted, Held: true, At: o.Stamp, Key: c.Author, Into: c.Into}
	if c.Is != nil && c.Was != nil {
		node.Fields = c.Is.Differs(c.Was)
	}
	if _, err := t.Graft(append([]rev.ID{next.Revision}, t.Path(c.Before.Revision)...), node); err != nil {
		return err
	}
	if next.Deleted {
		node.Into = 0
		if err := o.Store.Rules.Ended(o, c, &t); err != nil {
			return err
		}
		if err := EndAll(&t, node); err != nil {
			return err
		}
		NoteMerged(o, c.Kind, c.ID, &t)
	}
	KeepBody(o, c.Kind, c.Before)
	settleTree(o, c.Kind, next, &t)
	return nil
}

// KeptDoc is a kept body; nil where there is none.
func KeptDoc(v *View, k *record.Kind, id record.ID, rev rev.ID) (*record.Doc, error) {
	kept, err := KeptBody(v, k, id, rev)
	if err != nil || kept == nil {
		return nil, err
	}
	return kept.Decode(k)
}

// DocOf is a record as one of its revisions; nil where the body of that is not held.
func DocOf(v *View, k *record.Kind, st *Stored, rev rev.ID) (*record.Doc, error) {
	if rev != st.Revision {
		return KeptDoc(v, k, st.ID, rev)
	}
	if st.Deleted {
		return nil, nil
	}
	return st.Decode(k)
}

// EndAll deletes every leaf that is left alive.
func EndAll(t *rev.Tree, node rev.Node) error {
	for _, leaf := range t.Conflicts() {
		if err := endLeaf(t, leaf.Revision, node); err != nil {
			return err
		}
	}
	if w := t.Winner(); !w.Deleted {
		return endLeaf(t, w.Revision, node)
	}
	return nil
}

func endLeaf(t *rev.Tree, leaf rev.ID, node rev.Node) error {
	_, err := t.Graft(append([]rev.ID{rev.Next(leaf, true, nil)}, t.Path(leaf)...), node)
	return err
}

// settleTree removes what the tree need not keep, sets the header from the tree, and writes the tree.
func settleTree(o *Tx, k *record.Kind, next *Stored, t *rev.Tree) {
	for _, rev := range Shape(next, t) {
		o.Delete(BodyBucket, BodyKey(k, next.ID, rev))
	}
	o.Put(TreeBucket, TreeKey(k, next.ID), t.Append(nil))
}

// Shape removes from a tree what it need not keep and sets the header from the tree. It returns the revisions that lose their
// bodies.
func Shape(next *Stored, t *rev.Tree) (dropped []rev.ID) {
	dropped = t.Stem(RevsLimit)
	leaves := t.Leaves()
	dropped = append(dropped, Release(t, leaves)...)
	winner := leaves[0]
	next.Revision, next.Parent, next.Deleted, next.Branched = winner.Revision, winner.Parent.Hash, winner.Deleted, len(leaves) > 1
	return dropped
}

// Release notes which bodies a tree no longer holds, and returns their revisions.
func Release(t *rev.Tree, leaves []rev.Node) (dropped []rev.ID) {
	nodes := t.Nodes()
	for _, n := range nodes[:max(0, len(nodes)-keptBodies)] {
		isLeaf := func(l rev.Node) bool { return l.Revision == n.Revision }
		if n.Held && !slices.ContainsFunc(leaves, isLeaf) {
			t.Hold(n.Revision, false)
			dropped = append(dropped, n.Revision)
		}
	}
	return dropped
}
