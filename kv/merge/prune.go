package merge

import (
	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// pruneBodies removes bodies that a laptop or a copy does not keep, because only the root merges and restores. Of a record that
// another store has deleted it removes every body below the tombstone, because a person in it may be erased there. Of a holding
// it removes every old body. Bodies of leaves stay: a leaf that was made here may be in no other store.
func pruneBodies(o *table.Tx, ad *Adoption) error {
	if !o.Store.Identity.IsLeaf() {
		return nil
	}
	ended := endedBy(ad)
	old := ended
	if ad.Kind.OfHolding() {
		old = ad.Tree.Nodes()
	}
	if len(old) == 0 {
		return nil // as of most records
	}
	stays := map[rev.ID]bool{}
	for _, leaf := range ad.Tree.Leaves() {
		stays[leaf.Revision] = true
	}
	for revision := range ad.fresh {
		stays[revision] = true
	}
	var dropped []rev.ID
	for _, n := range old {
		if n.Held && !n.Deleted && !stays[n.Revision] {
			ad.Tree.Hold(n.Revision, false)
			dropped = append(dropped, n.Revision)
		}
	}
	table.DropBodies(o, ad.Kind, ad.ID, dropped)
	if len(dropped) == 0 || len(ended) == 0 && !ad.losesNames() {
		return nil
	}
	return table.NoteReleased(o)
}

// endedBy are the revisions below a tombstone that has arrived and that another store has made.
func endedBy(ad *Adoption) (below []rev.Node) {
	if len(ad.Path) == 0 {
		return nil // an adoption without an arrival
	}
	n := ad.Tree.Find(ad.Path[0])
	if !n.Deleted || n.At != 0 && n.Node == (ulid.ULID{}) {
		return nil
	}
	for _, revision := range ad.Tree.Path(n.Revision) {
		below = append(below, ad.Tree.Find(revision))
	}
	return below
}

// losesNames tells whether the record had a name, e-mail or phone and has none now.
func (ad *Adoption) losesNames() bool {
	names := func(d *record.Doc) bool { return !d.IsNull("full_name") || !d.IsNull("email") || !d.IsNull("phone") }
	return ad.Was != nil && ad.is != nil && names(ad.Was) && !names(ad.is)
}
