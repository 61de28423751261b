package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"

	"go.etcd.io/bbolt"

	"doorward/kv/crash"
	"doorward/kv/disk"
)

// RewriteName is the file that takes the store's place once it is whole.
const RewriteName = "compact.db"

const (
	rewriteTx     = 4 << 20 // how many bytes of rows one transaction copies: small, because a door waits for the same disk
	rewriteFew    = 1000    // rows that are carried over while writers wait
	rewriteRounds = 10      // how often it is tried to get down to so few
)

// rewriting is what a file knows of being rewritten.
type rewriting struct {
	mu      sync.Mutex // one at a time
	closing context.Context
	close   context.CancelFunc
}

// end ends what is under way, for good.
func (r *rewriting) end() {
	r.close()
	r.mu.Lock() // until it has ended
	defer r.mu.Unlock()
}

// Rewrite writes the file again, without the pages that are free: what was deleted before has no bytes left in it. first writes into the new
// file when it holds all rows of the View that is copied. The file is read and written while it does. At no moment is there no file, or half of
// one. Where a row is damaged the old file stays, with what can be read of it: ErrCorrupt. Also a *disk.Full, ErrStopped, the context's error.
func (db *DB) Rewrite(ctx context.Context, first func(*Tx)) error {
	db.rewrite.mu.Lock()
	defer db.rewrite.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(db.rewrite.closing, cancel)()
	if err := db.room.CheckFile("a file written anew", disk.Size(db.path)); err != nil {
		return err
	}
	old := db.file.Load()
	err := db.rewriteFile(ctx, old, first)
	if db.file.Load() != old {
		err = errors.Join(err, old.Close()) // which waits for its readers
	}
	return err
}

// spare is by how much the next file grows at once, and so how much of it may be of no use yet: little where the old one is small.
func spare(size int64, most int) int {
	const part = 16
	return min(most, int(size/part/pageSize+1)*pageSize)
}

func (db *DB) rewriteFile(ctx context.Context, old *file, first func(*Tx)) (err error) {
	path := db.rewritten()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	next, err := bbolt.Open(path, 0o600, Options(disk.Size(db.path)))
	if err != nil {
		return err
	}
	next.AllocSize = spare(disk.Size(db.path), old.AllocSize)
	defer func() {
		if db.file.Load().DB == next {
			return
		}
		_ = db.writer.between(func() error { db.writer.touched = nil; return nil }) // a file that is closed is written no more
		err = errors.Join(err, next.Close(), os.Remove(path))
	}()
	if err := db.copyAll(ctx, old, next, first); err != nil {
		return err
	}
	for range rewriteRounds {
		n, err := db.catchUp(old, next)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if n < rewriteFew {
			break
		}
	}
	return db.writer.between(func() error { return db.takeOver(old, next) })
}

// copyAll copies what the file holds now. From now on the writer notes what it touches. A damaged file may end its reader by a panic.
func (db *DB) copyAll(ctx context.Context, old *file, next *bbolt.DB, first func(*Tx)) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if found := recover(); found != nil {
			err = fmt.Errorf("%w: the structure of the file is broken: %v", ErrCorrupt, found)
		}
	}()
	var tx *bbolt.Tx
	err = db.writer.between(func() (err error) {
		db.writer.touched = touched{}
		tx, err = old.Begin(false)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it was only read
	err = tx.ForEach(func(name []byte, b *bbolt.Bucket) error { return db.copyBucket(ctx, next, name, b) })
	if err != nil {
		return err
	}
	return next.Update(func(tx *bbolt.Tx) error {
		t := alone(tx, db.schema)
		first(t)
		return t.flush()
	})
}

// copyBucket copies a bucket, a few megabytes in one transaction, and checks each of its rows.
func (db *DB) copyBucket(ctx context.Context, next *bbolt.DB, name []byte, from *bbolt.Bucket) error {
	at, known := db.schema.named(name)
	c := from.Cursor()
	key, value := c.First()
	for more := true; more; more = key != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err := next.Update(func(tx *bbolt.Tx) error {
			to, err := tx.CreateBucketIfNotExists(name)
			if err != nil {
				return err
			}
			to.FillPercent = TailFill
			for n := 0; key != nil && n < rewriteTx; key, value = c.Next() {
				if _, err := db.schema.unseal(at, key, value); known && err != nil {
					return err
				}
				if err := to.Put(key, value); err != nil {
					return err
				}
				n += len(key) + len(value)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// catchUp copies what was written since the last look, and returns how much that was.
func (db *DB) catchUp(old *file, next *bbolt.DB) (n int, err error) {
	var tx *bbolt.Tx
	var written touched
	err = db.writer.between(func() (err error) {
		written, db.writer.touched = db.writer.touched, touched{}
		tx, err = old.Begin(false)
		return err
	})
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // it was only read
	return len(written), db.schema.carryOver(tx, next, written)
}

// takeOver carries over what is left and puts the next file in the old one's place. The writer runs it, so nothing is written until it returns.
func (db *DB) takeOver(old *file, next *bbolt.DB) error {
	tx, err := old.Begin(false)
	if err != nil {
		return err
	}
	version := old.version(tx)
	err = db.schema.carryOver(tx, next, db.writer.touched)
	if err = errors.Join(err, tx.Rollback()); err != nil {
		return err
	}
	folder, itself, err := db.placeOf(old)
	if err != nil {
		return err
	}
	crash.At(crash.BeforeCompacted)
	if err := os.Rename(db.rewritten(), db.path); err != nil {
		return errors.Join(err, folder.Close())
	}
	crash.At(crash.AfterCompacted)
	db.writer.touched = nil
	err = next.View(func(tx *bbolt.Tx) error { // both files show the same rows now, so both have the same version
		db.file.Store(&file{DB: next, itself: itself, base: version - tx.ID()})
		next.AllocSize = old.AllocSize
		return nil
	})
	if err = errors.Join(err, folder.Sync(), folder.Close()); err != nil { // which of the two the disk holds is not known
		db.writer.stop(err, nil)
	}
	return err
}

// placeOf looks at the next file, and whether the old one is still where the next is to be put. The folder is opened before anything is
// renamed in it, because afterwards nothing but the disk may fail.
func (db *DB) placeOf(old *file) (folder *os.File, next os.FileInfo, err error) {
	if err = old.stands(db.path); err != nil {
		return nil, nil, err
	}
	if next, err = os.Stat(db.rewritten()); err != nil {
		return nil, nil, err
	}
	folder, err = os.Open(filepath.Dir(db.path))
	return folder, next, err
}
