package merge

import (
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/kv/value"
)

// resolve merges the branches of a record as record.Resolve says, in the transaction that the revision arrives in. Only the
// root merges. A store with a centre shows the winner and waits for the centre.
func resolve(o *table.Tx, ad *Adoption) error {
	if o.Store.Identity.IsLeaf() || ad.Kind.Fact {
		return nil
	}
	r, err := record.Resolve(ad.Kind, &ad.Tree, func(rev rev.ID) (*record.Doc, error) { return bodyOf(o, ad, rev) })
	if err != nil || r == nil {
		return err
	}
	ad.mixed = true
	for _, c := range r.Clashes {
		if err := listClash(o, ad, c); err != nil {
			return err
		}
	}
	if r.Revision != r.Parent {
		node := rev.Node{Held: true, At: o.Stamp, Fields: r.Fields}
		if err := ad.graft(r.Revision, r.Parent, node); err != nil {
			return err
		}
		ad.fresh[r.Revision] = newContent(r.Doc)
	}
	for _, leaf := range r.Ended {
		node := rev.Node{Deleted: true, Ended: true, Held: true, At: o.Stamp}
		if err := ad.graft(rev.Ending(leaf), leaf, node); err != nil {
			return err
		}
	}
	return nil
}

// graft adds a revision that this store makes to the record's tree.
func (ad *Adoption) graft(revision, parent rev.ID, node rev.Node) error {
	_, err := ad.Tree.Graft(append([]rev.ID{revision}, ad.Tree.Path(parent)...), node)
	return err
}

// bodyOf returns the body of a revision that has just arrived, is the record, or is kept; nil = the body is not held.
func bodyOf(o *table.Tx, ad *Adoption, rev rev.ID) (*record.Doc, error) {
	if f, ok := ad.fresh[rev]; ok {
		return f.Doc, nil
	}
	if ad.Before != nil && ad.Before.Revision == rev {
		return ad.Was, nil
	}
	return table.KeptDoc(o.View, ad.Kind, ad.ID, rev)
}

// listClash lists for staff a value that a merge has dropped.
func listClash(o *table.Tx, ad *Adoption, c record.Clash) error {
	return listConflict(o, ad.Kind, ad.ID, c, ad.Tree.Find(c.Leaf).Node)
}

// listConflict writes a conflict for staff: a value that is not the record's, and the node that wrote it. The zero node is this
// one.
func listConflict(o *table.Tx, k *record.Kind, id record.ID, c record.Clash, by ulid.ULID) error {
	d := record.Conflict.NewDoc()
	d.Set("kind", value.Quote(k.Name))
	d.Set("record_id", value.Quote(k.FormatID(id)))
	d.Set("field", value.Quote(c.Field))
	if c.Winner != nil {
		d.Set("winner", slices.Clone(c.Winner))
	}
	if c.Other != nil {
		d.Set("other", slices.Clone(c.Other))
	}
	d.Set("at", value.Time(o.Now))
	d.Set("node", value.Quote(nodeText(o, by)))
	_, err := o.Write(table.Edit{Kind: record.Conflict, ID: table.NewFactID(o.Now), Is: d})
	return err
}

// nodeText is the name of a node in a conflict.
func nodeText(o *table.Tx, node ulid.ULID) string {
	if node == (ulid.ULID{}) {
		return o.Store.Identity.Node()
	}
	return node.String()
}

// ListLost lists for staff the losing edits that a deletion here ends, because the author of the deletion has not seen them.
func ListLost(o *table.Tx, c table.Edit, t *rev.Tree) error {
	for _, leaf := range t.Leaves() {
		if leaf.Deleted || leaf.Revision == c.Before.Revision {
			continue
		}
		lost, err := table.KeptDoc(o.View, c.Kind, c.ID, leaf.Revision)
		if err != nil || lost == nil {
			return table.OrCorrupt(err)
		}
		if err := listConflict(o, c.Kind, c.ID, record.Clash{Other: lost.Canonical()}, leaf.Node); err != nil {
			return err
		}
	}
	return nil
}
