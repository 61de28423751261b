package merge

import (
	"fmt"
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
		if err := listConflict(o, ad.Kind, ad.ID, c, ad.Tree.Find(c.Leaf).Node); err != nil {
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

// If a laptop deletes a record while an edit has lost there, it ends that edit's branch too. The centre may never have seen the
// edit, because only leaves are pushed. So the tombstone brings along the edit that it ended, and the centre lists the edit if
// it does not have it. A tombstone's body is no part of its revision.
const lostMember = "lost"

// LostBody is the body of a tombstone that this laptop has made on a record with branches: the edit that the deletion has
// ended.
func LostBody(v *table.View, k *record.Kind, st *table.Stored, n rev.Node) ([]byte, error) {
	if !st.Deleted || !st.Branched || n.Node != (ulid.ULID{}) || !v.Store.Identity.IsLeaf() {
		return []byte("{}"), nil
	}
	d, err := table.KeptDoc(v, k, st.ID, n.Parent)
	if err != nil || d == nil {
		return []byte("{}"), err
	}
	return append(value.AppendMember([]byte{'{'}, lostMember, d.Canonical()), '}'), nil
}

// readLost reads the edit that a tombstone brings.
func (a *Arrival) readLost(tombstone []byte) (err error) {
	lost := record.Body{Shown: tombstone[1 : len(tombstone)-1]}.Member(lostMember)
	if len(lost) < 2 || lost[0] != '{' {
		return nil
	}
	if a.Lost, err = a.Kind.Decode(record.Body{Shown: lost[1 : len(lost)-1]}); err != nil {
		return fmt.Errorf("%w: %w", ErrDocument, err)
	}
	return nil
}

// listBrought lists for staff the edit that a tombstone brings, unless its revision is here.
func listBrought(o *table.Tx, a *Arrival) error {
	if a.Lost == nil || len(a.Path) < 2 || a.Tree.Find(a.Path[1]).Held {
		return nil
	}
	return listConflict(o, a.Kind, a.ID, record.Clash{Other: a.Lost.Canonical()}, a.Node.Node)
}
