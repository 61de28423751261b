package merge

import (
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/door"
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
	return table.KeptDoc(o.View, ad.Kind, ad.Id, rev)
}

// listClash writes for staff what a merge did not take.
func listClash(o *table.Tx, ad *Adoption, c record.Clash) error {
	return listConflict(o, ad.Kind, ad.Id, c, ad.Tree.Find(c.Leaf).Node)
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
	_, err := o.Write(table.Edit{Kind: record.Conflict, Id: door.NewFactID(o.Now), Is: d})
	return err
}

// ListLost lists for staff the edits that had lost and that a deletion here ends: the author of the deletion has not seen them.
func ListLost(o *table.Tx, c table.Edit, t *rev.Tree) error {
	for _, leaf := range t.Leaves() {
		if leaf.Deleted || leaf.Revision == c.Before.Revision {
			continue
		}
		lost, err := table.KeptDoc(o.View, c.Kind, c.Id, leaf.Revision)
		if err != nil || lost == nil {
			return table.OrCorrupt(err)
		}
		if err := listConflict(o, c.Kind, c.Id, record.Clash{Other: lost.Canonical()}, leaf.Node); err != nil {
			return err
		}
	}
	return nil
}
