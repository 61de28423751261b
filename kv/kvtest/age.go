package kvtest

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"doorward/kv"

	"go.etcd.io/bbolt"
)

// Age gives a folder's store, which nobody has open, the format before scopes had logs: whoever opens it migrates it.
func Age(t testing.TB, dir string) {
	t.Helper()
	db, err := bbolt.Open(kv.Path(dir), 0o600, &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	key, value := []byte("format"), []byte{1}
	sum := crc32.Checksum(append(append([]byte{0}, key...), value...), crc32.MakeTable(crc32.Castagnoli))
	err = db.Update(func(tx *bbolt.Tx) error {
		return errors.Join(tx.DeleteBucket([]byte("scope_log")), tx.Bucket([]byte("meta")).Put(key, binary.BigEndian.AppendUint32(value, sum)))
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
