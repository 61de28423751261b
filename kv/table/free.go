package table

import (
	"encoding/binary"

	"doorward/kv/engine"
)

var freeKey = []byte("free") // in meta: sequence uv, largest database id uv

// FreeCounters are the sequence of the latest change of all free databases, and the largest id of a database or an upload. A database
// that is deleted and made again begins after every cursor into the one before.
func FreeCounters(r *engine.View) (seq, last uint64, err error) {
	row, err := r.Get(MetaBucket, freeKey)
	if err != nil || row == nil {
		return 0, 0, err
	}
	c := Cutter{Rest: row}
	if seq, last = c.Uvarint(), c.Uvarint(); c.Short {
		err = engine.ErrCorrupt
	}
	return seq, last, err
}

// PutFreeCounters writes them.
func PutFreeCounters(w *engine.Tx, seq, last uint64) {
	w.Put(MetaBucket, freeKey, binary.AppendUvarint(binary.AppendUvarint(nil, seq), last))
}

// FirstKeys returns the first n keys under a prefix.
func FirstKeys(r *engine.View, b engine.Bucket, prefix []byte, n int) (keys [][]byte, err error) {
	err = r.Scan(b, prefix, nil, func(key, _ []byte) (bool, error) {
		if len(keys) == n {
			return false, nil
		}
		keys = append(keys, append([]byte(nil), key...))
		return true, nil
	})
	return keys, err
}
