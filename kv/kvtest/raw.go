package kvtest

import (
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
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
