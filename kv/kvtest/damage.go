package kvtest

import (
	"bytes"
	"encoding/binary"
	"testing"

	"go.etcd.io/bbolt"

	"doorward/kv/record"
	"doorward/kv/table"
)

// Damage changes a bit of a record in a folder's closed store.
func Damage(t testing.TB, dir string, k *record.Kind, id int64) {
	t.Helper()
	key := binary.BigEndian.AppendUint64(nil, uint64(id))
	change(t, table.Path(dir), &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType}, func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte("kind:" + k.Name))
		row := bytes.Clone(b.Get(key))
		row[len(row)/2] ^= 4
		return b.Put(key, row)
	})
}
