package kv

import (
	"fmt"
	"slices"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// keptBodies is how many of a tree's last revisions keep their bodies; those of all leaves are kept too. The winner's body is
// in the record's row, the others have rows of their own; a deleted one's is empty and has none.
const keptBodies = 10

// treeKey names a record's tree.
func treeKey(k *record.Kind, id record.ID) []byte { return k.AppendID([]byte{k.Number}, id) }

// tree is all that is known of a record's revisions. One that has only ever had this revision, made here, has no row: its header
// says it all.
func loadTree(v *sight, k *record.Kind, st *stored) (rev.Tree, error) {
	row, err := v.Get(treeBucket, treeKey(k, st.id))
	if err != nil {
		return rev.Tree{}, err
	}
	if row == nil {
		return st.derived(), nil
	}
	t, err := rev.ParseTree(row)
	if err != nil {
		return t, fmt.Errorf("%w: %s: %w", ErrCorrupt, k.Name, err)
	}
	return t, nil
}

// derived is the tree of a record that has no row for one.
func (h *header) derived() (t rev.Tree) {
	path := []rev.ID{h.revision}
	if h.revision.Generation > 1 {
		path = append(path, h.before())
	}
	_, _ = t.Graft(path, rev.Node{Deleted: h.deleted, Held: true, At: h.updatedAt, Key: h.updatedBy}) // it is a path
	return t
}

// branch adds a change made here to its record's tree and keeps the body that it replaces. A deletion ends all branches that
// replicas have made of the record.
func branch(o *op, c change, next *stored) error {
	if c.before == nil {
		return nil
	}
	t, err := loadTree(o.sight, c.kind, c.before)
	if err != nil {
		return err
	}
	node := rev.Node{Deleted: next.deleted, Held: true, At: o.stamp, Key: c.author, Into: c.into}
	if c.is != nil && c.was != nil {
		node.Fields = c.is.Differs(c.was)
	}
	if _, err := t.Graft(append([]rev.ID{next.revision}, t.Path(c.before.revision)...), node); err != nil {
		return err
	}
	if next.deleted {
		node.Into = 0
		if err := o.store.rules.ended(o, c, &t); err != nil {
			return err
		}
		if err := endAll(&t, node); err != nil {
			return err
		}
		noteMerged(o, c.kind, c.id, &t)
	}
	keepBody(o, c.kind, c.before)
	settleTree(o, c.kind, next, &t)
	return nil
}

// listLost lists for staff the edits that had lost and that a deletion here ends: the author of the deletion has not seen them.
func listLost(o *op, c change, t *rev.Tree) error {
	for _, leaf := range t.Leaves() {
		if leaf.Deleted || leaf.Revision == c.before.revision {
			continue
		}
		lost, err := keptDoc(o.sight, c.kind, c.id, leaf.Revision)
		if err != nil || lost == nil {
			return orCorrupt(err)
		}
		if err := listConflict(o, c.kind, c.id, record.Clash{Other: lost.Canonical()}, leaf.Node); err != nil {
			return err
		}
	}
	return nil
}

// keptDoc is a kept body; nil where there is none.
func keptDoc(v *sight, k *record.Kind, id record.ID, rev rev.ID) (*record.Doc, error) {
	kept, err := keptBody(v, k, id, rev)
	if err != nil || kept == nil {
		return nil, err
	}
	return kept.decode(k)
}

// docOf is a record as one of its revisions; nil where the body of that is not held.
func docOf(v *sight, k *record.Kind, st *stored, rev rev.ID) (*record.Doc, error) {
	if rev != st.revision {
		return keptDoc(v, k, st.id, rev)
	}
	if st.deleted {
		return nil, nil
	}
	return st.decode(k)
}

// endAll deletes every leaf that is left alive.
func endAll(t *rev.Tree, node rev.Node) error {
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
func settleTree(o *op, k *record.Kind, next *stored, t *rev.Tree) {
	for _, rev := range shape(next, t) {
		o.delete(bodyBucket, bodyKey(k, next.id, rev))
	}
	o.put(treeBucket, treeKey(k, next.id), t.Append(nil))
}

// shape removes from a tree what it need not keep and sets the header from the tree. It returns the revisions that lose their
// bodies.
func shape(next *stored, t *rev.Tree) (dropped []rev.ID) {
	dropped = t.Stem(RevsLimit)
	leaves := t.Leaves()
	dropped = append(dropped, release(t, leaves)...)
	winner := leaves[0]
	next.revision, next.parent, next.deleted, next.branched = winner.Revision, winner.Parent.Hash, winner.Deleted, len(leaves) > 1
	return dropped
}

// release notes which bodies a tree no longer holds, and returns their revisions.
func release(t *rev.Tree, leaves []rev.Node) (dropped []rev.ID) {
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
