package table

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/rev"
)

// A body that is kept beside the record's present one: foreign 1, table version 1, length of shown uv, shown members, hidden
// members.

// BodyKey names a revision's kept body.
func BodyKey(k *record.Kind, id record.ID, rev rev.ID) []byte {
	return AppendRevision(TreeKey(k, id), rev)
}

// KeepBody gives the body of a record's present revision a row of its own.
func KeepBody(o *Tx, k *record.Kind, st *Stored) {
	if st.Deleted {
		return
	}
	row := []byte{Flag(st.Foreign), st.Version}
	row = binary.AppendUvarint(row, uint64(len(st.Body.Shown)))
	row = append(append(row, st.Body.Shown...), st.Body.Hidden...)
	o.Put(BodyBucket, BodyKey(k, st.ID, st.Revision), row)
}

// KeptBody reads a kept body; nil where there is none. It has no more of a header than belongs to the body.
func KeptBody(v *View, k *record.Kind, id record.ID, rev rev.ID) (*Stored, error) {
	row, err := v.Get(BodyBucket, BodyKey(k, id, rev))
	if err != nil || row == nil {
		return nil, err
	}
	st := &Stored{ID: id}
	st.Revision = rev
	if err = st.ParseBody(k, row); err == nil && !v.Writing() {
		err = Unshown(v, k, st)
	}
	return st, err
}

func (st *Stored) ParseBody(k *record.Kind, row []byte) error {
	c := Cutter{Rest: row}
	st.Foreign, st.Version = c.Byte() == 1, c.Byte()
	st.Body.Shown = c.Bytes(int(c.Uvarint()))
	st.Body.Hidden = c.Rest
	if c.Short {
		return fmt.Errorf("%w: kept body of %s is cut short", engine.ErrCorrupt, k.Name)
	}
	return nil
}

// Forget deletes all that is kept of a record besides its row: its tree, and the bodies of its other revisions.
func Forget(o *Tx, k *record.Kind, id record.ID) error {
	keys, err := FirstKeys(o.View.View, BodyBucket, TreeKey(k, id), MaxKept)
	for _, key := range keys {
		o.Delete(BodyBucket, key)
	}
	o.Delete(TreeBucket, TreeKey(k, id))
	return err
}

// MaxKept is more than the bodies that a record can have.
const MaxKept = 1 << 20

// CutRecord takes a kind's record off the front of a key.
func CutRecord(key []byte) (k *record.Kind, id record.ID, rest []byte, err error) {
	if len(key) == 0 {
		return nil, id, nil, engine.ErrCorrupt
	}
	k, ok := record.ByNumber(key[0])
	if !ok || len(key) < 1+k.IDSize() {
		return nil, id, nil, engine.ErrCorrupt
	}
	id, _ = k.KeyID(key[1 : 1+k.IDSize()]) // its length is right
	return k, id, bytes.Clone(key[1+k.IDSize():]), nil
}
