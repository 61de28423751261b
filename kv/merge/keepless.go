package merge

import (
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// keepLess takes away what a laptop or a copy does not keep, for only the root merges and gives back what was deleted: of a record that
// was deleted elsewhere all that the deletion stands on, for a person it was about may have been erased there, and of a holding all that
// it was. The leaves stay: no other store may have those that were made here.
func keepLess(o *table.Tx, ad *Adoption) error {
	if !o.Store.IsLeaf() {
		return nil
	}
	var ended []rev.ID
	if len(ad.Path) > 0 { // a record that gives way has none
		if n := ad.Tree.Find(ad.Path[0]); n.Deleted && (n.At == 0 || n.Node != (ulid.ULID{})) {
			ended = ad.Tree.Path(n.Revision)
		}
	}
	ofHolder := ad.Kind.OfHolding()
	if len(ended) == 0 && !ofHolder {
		return nil
	}
	leaves := ad.Tree.Leaves()
	released := false
	for _, n := range ad.Tree.Nodes() {
		isLeaf := slices.ContainsFunc(leaves, func(l rev.Node) bool { return l.Revision == n.Revision })
		isOver := slices.Contains(ended, n.Revision)
		if !n.Held || n.Deleted || isLeaf || ad.fresh[n.Revision] != nil || !isOver && !ofHolder {
			continue
		}
		ad.Tree.Hold(n.Revision, false)
		o.Delete(table.BodyBucket, table.BodyKey(ad.Kind, ad.ID, n.Revision))
		released = true
	}
	if !released || len(ended) == 0 && !ad.losesNames() {
		return nil
	}
	return table.NoteReleased(o)
}

// losesNames tells that the record named somebody and names nobody any more.
func (ad *Adoption) losesNames() bool {
	names := func(d *record.Doc) bool { return !d.IsNull("full_name") || !d.IsNull("email") || !d.IsNull("phone") }
	return ad.Was != nil && ad.is != nil && names(ad.Was) && !names(ad.is)
}
