package kvtest

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"go.etcd.io/bbolt"

	"doorward/kv/table"
)

// Advance gives a folder's closed store a format that this version does not know.
func Advance(t testing.TB, dir string) {
	t.Helper()
	stamp(t, dir, 100)
}

func stamp(t testing.TB, dir string, format byte) {
	t.Helper()
	key, value := []byte("format"), []byte{format}
	sum := crc32.Checksum(append(append([]byte{0}, key...), value...), crc32.MakeTable(crc32.Castagnoli))
	change(t, table.Path(dir), &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType}, func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put(key, binary.BigEndian.AppendUint32(value, sum))
	})
}

// Foreign makes a bbolt file as another program keeps one.
func Foreign(t testing.TB, path string, pageSize int) {
	t.Helper()
	change(t, path, &bbolt.Options{PageSize: pageSize}, func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket([]byte("theirs"))
		return err
	})
}

func change(t testing.TB, path string, o *bbolt.Options, fn func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(fn), db.Close()); err != nil {
		t.Fatal(err)
	}
}
