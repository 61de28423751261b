package table

import (
	"fmt"

	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/rev"
)

// TreeKey names a record's tree.
func TreeKey(k *record.Kind, id record.ID) []byte { return k.AppendID([]byte{k.Number}, id) }

// LoadTree reads a record's tree. A record with one revision that was made here has no row; its tree is made from its header.
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

// derived is the tree of a record without a row for it.
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
	DropBodies(o, c.Kind, c.ID, Shape(next, &t))
	o.Put(TreeBucket, TreeKey(c.Kind, c.ID), t.Append(nil))
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

// EndAll deletes every live leaf.
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

// Shape prunes a tree and sets the header from it. It returns the revisions that lose their bodies.
func Shape(next *Stored, t *rev.Tree) (dropped []rev.ID) {
	dropped, leaves := Trim(t)
	winner := leaves[0]
	next.Revision, next.Parent, next.Deleted, next.Branched = winner.Revision, winner.Parent.Hash, winner.Deleted, len(leaves) > 1
	return dropped
}
