package kv

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

// compactTx is how many bytes of rows one transaction copies.
const compactTx = 8 << 20

// Compact writes a folder's file anew, without the pages that are free: what was deleted or erased has no bytes left in it. At no
// moment is there no store, or half of one. Nobody may have the file open: ErrInUse.
func Compact(dir string, now time.Time) (err error) {
	path := Path(dir)
	if _, err := os.Stat(path); err != nil {
		return err
	}
	old, err := openFile(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, old.Close()) }() // which lets go of the lock
	next := filepath.Join(dir, "compact.db")
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	defer func() { _ = os.Remove(next) }() // renamed already, or of no use
	if err := copyRows(old, next, now); err != nil {
		return err
	}
	return errors.Join(os.Rename(next, path), syncDir(dir))
}

// copyRows writes all rows of a file to a new one, durably.
func copyRows(old *bbolt.DB, path string, now time.Time) error {
	options := boltOptions(0)
	options.NoSync = true // until all is there
	db, err := bbolt.Open(path, 0o600, options)
	if err != nil {
		return err
	}
	err = bbolt.Compact(db, old, compactTx)
	if err == nil {
		err = db.Update(func(tx *bbolt.Tx) error {
			if err := createBuckets(tx); err != nil {
				return err
			}
			r := rows{tx: tx, buckets: &bucketCache{}, over: &overlay{arena: &arena{}}}
			r.put(metaBucket, compactedKey, binary.BigEndian.AppendUint64(nil, uint64(now.UnixMicro())))
			return r.flush()
		})
	}
	return errors.Join(err, db.Sync(), db.Close())
}
