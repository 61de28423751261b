package kvtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"doorward/kv/record"
	"doorward/kv/table"
)

// Raw is a bare bbolt file with one bucket, as a store's is set up but for what a store does: what benchmarks compare with.
type Raw struct{ db *bbolt.DB }

var rawBucket = []byte("raw")

// OpenRaw opens an empty one that closes with the test.
func OpenRaw(t testing.TB) *Raw {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "raw.db"), 0o600, &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, PageSize: 8 << 10, InitialMmapSize: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket(rawBucket)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return &Raw{db}
}

// Put writes pairs of key and value in one transaction.
func (r *Raw) Put(pairs [][2][]byte) error {
	return r.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(rawBucket)
		for _, p := range pairs {
			if err := b.Put(p[0], p[1]); err != nil {
				return err
			}
		}
		return nil
	})
}

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
