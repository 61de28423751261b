package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"

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
	mu       sync.Mutex // one at a time
	underWay atomic.Bool
	touched  touched // what was written into the file since the copy began; nil = there is none. Guarded by folding.mu
	closing  context.Context
	close    context.CancelFunc
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
	defer db.rewrite.underWay.Store(false)
	if err := db.beginRewrite(); err != nil {
		return err
	}
	old := db.state.Load().file
	err := db.rewriteFile(ctx, old, first)
	if db.state.Load().file != old {
		err = errors.Join(err, old.Close()) // which waits for its readers
	}
	return err
}

// beginRewrite writes over what the log has of the time before: all of it is in the file. What is deleted from now on may be in the next file.
func (db *DB) beginRewrite() error {
	if err := db.cutLog(); err != nil {
		return err
	}
	if err := db.Fold(); err != nil || db.journal == nil {
		return err
	}
	return db.journal.Erase()
}

// cutLog begins a segment of the log, so that no other is needed once all is folded.
func (db *DB) cutLog() error {
	db.commit.Lock()
	defer db.commit.Unlock()
	db.rewrite.underWay.Store(true)
	if err := db.Stopped(); err != nil || db.journal == nil {
		return err
	}
	err := db.journal.Rotate()
	if err != nil {
		db.writer.stop(err, nil)
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
		if db.state.Load().file.DB == next {
			return
		}
		db.folding.mu.Lock()
		db.rewrite.touched = nil // a file that is closed is written no more
		db.folding.mu.Unlock()
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
	return db.takeOver(old, next)
}

// copyAll copies what the file holds now. From now on the writer notes what it touches. A damaged file may end its reader by a panic.
func (db *DB) copyAll(ctx context.Context, old *file, next *bbolt.DB, first func(*Tx)) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if found := recover(); found != nil {
			err = fmt.Errorf("%w: the structure of the file is broken: %v", ErrCorrupt, found)
		}
	}()
	tx, _, err := db.beginCopy(old)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it was only read
	err = tx.ForEach(func(name []byte, b *bbolt.Bucket) error { return db.copyBucket(ctx, next, name, b) })
	if err != nil {
		return err
	}
	return next.Update(func(tx *bbolt.Tx) error {
		t := operation(tx, db.schema)
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

// beginCopy folds what is committed and begins a transaction that shows it. It returns the rows that were written since the last one began.
func (db *DB) beginCopy(old *file) (tx *bbolt.Tx, written touched, err error) {
	if err := db.Fold(); err != nil {
		return nil, nil, err
	}
	db.folding.mu.Lock()
	defer db.folding.mu.Unlock()
	if tx, err = old.Begin(false); err == nil {
		written, db.rewrite.touched = db.rewrite.touched, touched{}
	}
	return tx, written, err
}

// catchUp copies what was written since the last look, and returns how much that was.
func (db *DB) catchUp(old *file, next *bbolt.DB) (n int, err error) {
	tx, written, err := db.beginCopy(old)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // it was only read
	return len(written), db.schema.carryOver(tx, next, written)
}

// takeOver carries over what is left and puts the next file in the old one's place. Nothing is folded until it returns, so nothing changes the old
// file; the log goes on, and the writer waits for the change of names alone.
func (db *DB) takeOver(old *file, next *bbolt.DB) error {
	db.folding.mu.Lock()
	defer db.folding.mu.Unlock()
	if err := db.Stopped(); err != nil {
		return err
	}
	tx, err := old.Begin(false)
	if err != nil {
		return err
	}
	err = db.schema.carryOver(tx, next, db.rewrite.touched)
	if err = errors.Join(err, tx.Rollback()); err != nil {
		return err
	}
	folder, itself, err := db.placeOf(old)
	if err != nil {
		return err
	}
	if err := db.rename(next, itself); err != nil {
		return errors.Join(err, folder.Close())
	}
	next.AllocSize = old.AllocSize
	if err = errors.Join(err, folder.Sync(), folder.Close()); err != nil { // which of the two the disk holds is not known
		db.writer.stop(err, nil)
	}
	return err
}

// rename gives the next file its name, and has readers and the writer use it. Both files show the same rows now.
func (db *DB) rename(next *bbolt.DB, itself os.FileInfo) error {
	db.commit.Lock()
	defer db.commit.Unlock()
	crash.At(crash.BeforeCompacted)
	if err := os.Rename(db.rewritten(), db.path); err != nil {
		return err
	}
	crash.At(crash.AfterCompacted)
	db.rewrite.touched = nil
	return next.View(func(tx *bbolt.Tx) error {
		s := db.state.Load()
		db.set(&state{file: &file{DB: next, itself: itself}, tx: tx.ID(), tables: s.tables, sequence: s.sequence})
		return nil
	})
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
