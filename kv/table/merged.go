package table

import (
	"encoding/binary"
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// MergedInto is the first byte of the rows from a record to those merged into it.
const MergedInto = 'i'

// MergedIn is the record that a deleted one was merged into, by its tree; 0 = none.
func MergedIn(t *rev.Tree) (into int64) {
	for _, leaf := range t.Leaves() {
		if leaf.Into != 0 && (into == 0 || leaf.Into < into) {
			into = leaf.Into
		}
	}
	return into
}

// Survivor is the record that an id now stands for: its own, or the one that it was merged into. It is nil for a deleted record.
func Survivor(v *View, k *record.Kind, id record.ID) (*Stored, error) {
	for {
		st, err := v.LoadAny(k, id)
		if err != nil || st == nil || !st.Deleted {
			return st, err
		}
		t, err := LoadTree(v, k, st)
		into := MergedIn(&t)
		if err != nil || into == 0 || into >= id.Int() { // each has a lower id than the one before
			return nil, err
		}
		id = record.Int(into)
	}
}

func intoKey(k *record.Kind, into, id int64) []byte {
	key := binary.BigEndian.AppendUint64([]byte{MergedInto, k.Number}, uint64(into))
	return binary.BigEndian.AppendUint64(key, uint64(id))
}

// Merged are the records that were merged into one, in order.
func Merged(v *View, k *record.Kind, into record.ID) ([]record.ID, error) {
	return IDsUnder(v, MergedBucket, intoKey(k, into.Int(), 0)[:10], k)
}

// NoteMerged writes the row of a merged record, by its tombstone.
func NoteMerged(o *Tx, k *record.Kind, id record.ID, t *rev.Tree) {
	if into := MergedIn(t); into != 0 {
		o.Put(MergedBucket, intoKey(k, into, id.Int()), nil)
	}
}

// ForgetMerged deletes the rows that NoteMerged has ever written of a record. A lower id leaves the row of the higher one behind.
func ForgetMerged(o *Tx, k *record.Kind, st *Stored) error {
	if k.ULID {
		return nil // no record of such a kind is merged
	}
	t, err := LoadTree(o.View, k, st)
	if err != nil {
		return err
	}
	for _, n := range t.Nodes() {
		if n.Into != 0 {
			o.Delete(MergedBucket, intoKey(k, n.Into, st.ID.Int()))
		}
	}
	return nil
}

// IsOnlyOf tells whether one node has made all known revisions of a tree.
func IsOnlyOf(t *rev.Tree, own ulid.ULID) bool {
	return !slices.ContainsFunc(t.Nodes(), func(n rev.Node) bool { return n.Node != own && isTold(n) })
}

// IsBegunBy tells whether a node has made the first known revision of a tree.
func IsBegunBy(t *rev.Tree, own ulid.ULID) bool {
	i := slices.IndexFunc(t.Nodes(), isTold)
	return i >= 0 && t.Nodes()[i].Node == own
}

// isTold tells whether more than its id is known of a revision. Of earlier revisions that came with a later one, the id alone is.
func isTold(n rev.Node) bool { return n.Held || n.Deleted || n.At != 0 }
