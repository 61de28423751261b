package kv

import (
	"slices"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// GiveWay takes back what this store's centre has refused, and keeps for its staff: each record's revisions that the centre lacks, the
// refused one first. The record is then what the centre has of it. One that the centre has nothing of stays, as does one of which this
// store has no body of that any more.
func (s *Store) GiveWay(p Principal, lacking []Revs) error {
	if err := p.CheckWhole(); err != nil || !s.isLeaf() {
		return err
	}
	steps := make([]step, len(lacking))
	for i, r := range lacking {
		steps[i].run = func(o *op) error { return giveWay(o, r) }
	}
	return s.doEach(steps)
}

func giveWay(o *op, r Revs) error {
	k, id, ok := record.ParseDocID(r.ID)
	if !ok || len(r.Revisions) == 0 {
		return nil
	}
	before, err := o.loadAny(k, id)
	if err != nil || before == nil {
		return err
	}
	a := &arrival{kind: k, id: id, via: before.scopes[0], before: before}
	if a.tree, err = loadTree(o.sight, k, before); err != nil {
		return err
	}
	forgotten := a.tree.Prune(r.Revisions[0], func(n rev.Node) bool { return !slices.Contains(r.Revisions, n.Revision) })
	if w := a.tree.Winner(); len(forgotten) == 0 || !w.Held && !w.Deleted {
		return nil // nothing is left that could be shown
	}
	ad := &adoption{arrival: a}
	if !before.deleted {
		if ad.was, err = before.decode(k); err != nil {
			return err
		}
	}
	for _, rev := range forgotten {
		o.delete(bodyBucket, bodyKey(k, id, rev))
	}
	return carryOut(o, ad)
}
