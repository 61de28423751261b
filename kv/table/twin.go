package table

import (
	"encoding/binary"
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/rev"
)

const TwinInto = 'i'

// MergedIn is what a deleted record's tree says that it was merged into; 0: nothing.
func MergedIn(t *rev.Tree) (into int64) {
	for _, leaf := range t.Leaves() {
		if leaf.Into != 0 && (into == 0 || leaf.Into < into) {
			into = leaf.Into
		}
	}
	return into
}

// standing is the record that an id now means: its own or, where it was merged, the one that stays. nil: it is deleted.
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
	key := binary.BigEndian.AppendUint64([]byte{TwinInto, k.Number}, uint64(into))
	return binary.BigEndian.AppendUint64(key, uint64(id))
}

// Merged are the records that were merged into one, in order.
func Merged(v *View, k *record.Kind, into record.ID) (ids []record.ID, err error) {
	prefix := intoKey(k, into.Int(), 0)[:10]
	err = v.Scan(TwinBucket, prefix, nil, func(key, _ []byte) (bool, error) {
		id, ok := k.KeyID(key[len(prefix):])
		if !ok {
			return false, engine.ErrCorrupt
		}
		ids = append(ids, id)
		return true, nil
	})
	return ids, err
}

// NoteMerged keeps what a tombstone says, at every store.
func NoteMerged(o *Tx, k *record.Kind, id record.ID, t *rev.Tree) {
	if into := MergedIn(t); into != 0 {
		o.Put(TwinBucket, intoKey(k, into, id.Int()), nil)
	}
}

func IsOnlyOf(t *rev.Tree, own ulid.ULID) bool {
	return !slices.ContainsFunc(t.Nodes(), func(n rev.Node) bool {
		return n.Node != own && (n.Held || n.Deleted || n.At != 0) // else only its name is known
	})
}
