package kv

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// A body that is kept beside the record's present one: foreign 1, table version 1, length of shown uv, shown members, hidden
// members.

// bodyKey names a revision's kept body.
func bodyKey(k *record.Kind, id record.ID, rev rev.ID) []byte {
	return appendRevision(treeKey(k, id), rev)
}

// keepBody gives the body of a record's present revision a row of its own.
func keepBody(o *op, k *record.Kind, st *stored) {
	if st.deleted {
		return
	}
	row := []byte{flag(st.foreign), st.version}
	row = binary.AppendUvarint(row, uint64(len(st.body.Shown)))
	row = append(append(row, st.body.Shown...), st.body.Hidden...)
	o.put(bodyBucket, bodyKey(k, st.id, st.revision), row)
}

// keptBody reads a kept body; nil where there is none. It has no more of a header than belongs to the body.
func keptBody(v *sight, k *record.Kind, id record.ID, rev rev.ID) (*stored, error) {
	row, err := v.Get(bodyBucket, bodyKey(k, id, rev))
	if err != nil || row == nil {
		return nil, err
	}
	st := &stored{id: id}
	st.revision = rev
	if err = st.parseBody(k, row); err == nil && !v.Writing() {
		err = unshownPast(v, k, st)
	}
	return st, err
}

func (st *stored) parseBody(k *record.Kind, row []byte) error {
	c := cutter{rest: row}
	st.foreign, st.version = c.byte() == 1, c.byte()
	st.body.Shown = c.bytes(int(c.uvarint()))
	st.body.Hidden = c.rest
	if c.short {
		return fmt.Errorf("%w: kept body of %s is cut short", ErrCorrupt, k.Name)
	}
	return nil
}

// forget deletes all that is kept of a record besides its row: its tree, and the bodies of its other revisions.
func forget(o *op, k *record.Kind, id record.ID) error {
	keys, err := firstKeys(o.sight.View, bodyBucket, treeKey(k, id), maxKept)
	for _, key := range keys {
		o.delete(bodyBucket, key)
	}
	o.delete(treeBucket, treeKey(k, id))
	return err
}

// maxKept is more than the bodies that a record can have.
const maxKept = 1 << 20

// cutRecord takes a kind's record off the front of a key.
func cutRecord(key []byte) (k *record.Kind, id record.ID, rest []byte, err error) {
	if len(key) == 0 {
		return nil, id, nil, ErrCorrupt
	}
	k, ok := record.ByNumber(key[0])
	if !ok || len(key) < 1+k.IDSize() {
		return nil, id, nil, ErrCorrupt
	}
	id, _ = k.KeyID(key[1 : 1+k.IDSize()]) // its length is right
	return k, id, bytes.Clone(key[1+k.IDSize():]), nil
}
