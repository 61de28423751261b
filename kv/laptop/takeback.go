package laptop

import (
	"slices"

	"doorward/kv/auth"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// TakeBack reverts records to what the centre has of them. lacking has the revisions that the centre lacks, the refused one first; the
// centre has kept that one for its staff. A record stays as it is if the centre has nothing of it, or if this store does not have the body
// of the centre's revision any more.
func (lp *Laptop) TakeBack(p auth.Principal, lacking []merge.Revs) error {
	if err := p.CheckWhole(); err != nil || !lp.tables.Identity.IsLeaf() {
		return err
	}
	return table.DoEach(lp.tables, lacking, takeBack)
}

func takeBack(o *table.Tx, r merge.Revs) error {
	k, id, ok := record.ParseDocID(r.ID)
	if !ok || len(r.Revisions) == 0 {
		return nil
	}
	before, err := o.LoadAny(k, id)
	if err != nil || before == nil {
		return err
	}
	a := &merge.Arrival{Kind: k, ID: id, Via: before.Scopes[0], Before: before}
	if a.Tree, err = table.LoadTree(o.View, k, before); err != nil {
		return err
	}
	forgotten := a.Tree.Prune(r.Revisions[0], func(n rev.Node) bool { return !slices.Contains(r.Revisions, n.Revision) })
	if w := a.Tree.Winner(); len(forgotten) == 0 || !w.Held && !w.Deleted {
		return nil // nothing is left that could be shown
	}
	ad := &merge.Adoption{Arrival: a}
	if !before.Deleted {
		if ad.Was, err = before.Decode(k); err != nil {
			return err
		}
	}
	table.DropBodies(o, k, id, forgotten)
	return merge.CarryOut(o, ad)
}
