package merge

import (
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/kv/value"
)

// resolve carries out what record.Resolve makes of a conflict, in the operation that has brought it. Only the root merges; who has
// a centre shows the winner and waits.
func resolve(o *table.Tx, ad *Adoption) error {
	if o.Store.IsLeaf() || ad.Kind.Fact {
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
		ad.fresh[r.Revision] = &fresh{doc: r.Doc, body: r.Doc.Encode()}
	}
	for _, leaf := range r.Ended {
		node := rev.Node{Deleted: true, Ended: true, Held: true, At: o.Stamp}
		if err := ad.graft(rev.Ending(leaf), leaf, node); err != nil {
			return err
		}
	}
	return nil
}

// graft adds a revision upon one that the tree has.
func (ad *Adoption) graft(revision, parent rev.ID, node rev.Node) error {
	_, err := ad.Tree.Graft(append([]rev.ID{revision}, ad.Tree.Path(parent)...), node)
	return err
}

// bodyOf is the body of a revision that has just come, is the record's, or is kept; nil where it is not held.
func bodyOf(o *table.Tx, ad *Adoption, rev rev.ID) (*record.Doc, error) {
	if f := ad.fresh[rev]; f != nil {
		return f.doc, nil
	}
	if ad.Before != nil && ad.Before.Revision == rev {
		return ad.Was, nil
	}
	return table.KeptDoc(o.View, ad.Kind, ad.ID, rev)
}

// listClash writes for staff what a merge did not take.
func listClash(o *table.Tx, ad *Adoption, c record.Clash) error {
	return listConflict(o, ad.Kind, ad.ID, c, ad.Tree.Find(c.Leaf).Node)
}

// listConflict writes for staff what does not stand, and which node wrote it; the zero node: this one.
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

// nodeText is a node of a tree as conflicts name it.
func nodeText(o *table.Tx, node ulid.ULID) string {
	if node == (ulid.ULID{}) {
		return o.Store.Identity.Node
	}
	return node.String()
}
