package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"doorward/kv/crash"

	"go.etcd.io/bbolt"
)

// Compacted tells how large a store's file was, and is.
type Compacted struct {
	Before int64
	Bytes  int64
}

// compactName is the file that takes the store's place once it is whole.
const compactName = "compact.db"

const (
	compactTx     = 4 << 20 // how many bytes of rows one transaction copies: small, for a door waits for the same disk
	compactFew    = 1000    // rows that are carried over while nobody writes
	compactRounds = 10      // how often it is tried to get down to so few
)

// compacting is what a store knows of being compacted.
type compacting struct {
	mu      sync.Mutex // one at a time
	closing context.Context
	close   context.CancelFunc
}

// end ends what is under way, for good.
func (c *compacting) end() {
	c.close()
	c.mu.Lock() // until it has ended
	defer c.mu.Unlock()
}

// Compact writes the store's file anew, without the pages that are free: what was deleted or erased before has no bytes left in it.
// The store is read and written meanwhile. Its rows are copied out of a View, then those that were written since, again and again;
// only the last few are carried over while writers wait, and then the new file takes the old one's name. At no moment is there no
// store, or half of one. Where a row is damaged the old file stays, with what can be read of it: *BadFile. *Forbidden.
func (s *Store) Compact(ctx context.Context, p Principal) (c Compacted, err error) {
	if err := p.mayRule(); err != nil {
		return c, err
	}
	s.compacting.mu.Lock()
	defer s.compacting.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.compacting.closing, cancel)()
	start, old := time.Now(), s.file.Load()
	c.Before = sizeOf(Path(s.dir))
	if err := s.disk.roomFor("a file written anew and what people go on making", c.Before); err != nil {
		return c, fmt.Errorf("compact: %w", err)
	}
	err = s.compact(ctx, old)
	if s.file.Load() != old {
		err = errors.Join(err, old.Close()) // which waits for those who read it still
	}
	if err != nil {
		return c, fmt.Errorf("compact: %w", s.Blamed(err))
	}
	c.Bytes = sizeOf(Path(s.dir))
	s.log.Info("the store is compacted", slog.Int64("before", c.Before), slog.Int64("bytes", c.Bytes), slog.Duration("took", time.Since(start)))
	return c, nil
}

// spare is by how much the next file grows at once, and so how much of it may be of no use yet: little where the old one is small.
func spare(size int64, most int) int {
	const part = 16
	return min(most, int(size/part/filePageSize+1)*filePageSize)
}

func (s *Store) compact(ctx context.Context, old *boltFile) (err error) {
	path := filepath.Join(s.dir, compactName)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	next, err := bbolt.Open(path, 0o600, boltOptions(sizeOf(Path(s.dir))))
	if err != nil {
		return err
	}
	next.AllocSize = spare(sizeOf(Path(s.dir)), old.AllocSize)
	defer func() {
		if s.file.Load().DB == next {
			return
		}
		_ = s.writer.between(func() error { s.writer.touched = nil; return nil }) // a store that is closed writes nothing more
		err = errors.Join(err, next.Close(), os.Remove(path))
	}()
	if err := s.copyAll(ctx, old, next); err != nil {
		return err
	}
	for range compactRounds {
		n, err := s.catchUp(old, next)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if n < compactFew {
			break
		}
	}
	return s.writer.between(func() error { return s.takeOver(old, next, path) })
}

// copyAll copies what the file holds now. From now on the writer notes what it touches. A damaged file may end its reader by a panic.
func (s *Store) copyAll(ctx context.Context, old *boltFile, next *bbolt.DB) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if found := recover(); found != nil {
			err = fmt.Errorf("%w: the structure of the file is broken: %v", ErrCorrupt, found)
		}
	}()
	var tx *bbolt.Tx
	var began time.Time
	err = s.writer.between(func() (err error) {
		s.writer.touched, began = touched{}, s.clock()
		tx, err = old.Begin(false)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it was only read
	err = tx.ForEach(func(name []byte, b *bbolt.Bucket) error { return copyBucket(ctx, next, name, b) })
	if err != nil {
		return err
	}
	return next.Update(func(tx *bbolt.Tx) error {
		r := rows{tx: tx, buckets: &bucketCache{}, over: &overlay{arena: &arena{}}}
		r.put(metaBucket, compactedKey, binary.BigEndian.AppendUint64(nil, uint64(began.UnixMicro())))
		return r.flush()
	})
}

// copyBucket copies a bucket, a few megabytes in one transaction, and checks each of its rows.
func copyBucket(ctx context.Context, next *bbolt.DB, name []byte, from *bbolt.Bucket) error {
	at, known := bucketNamed(name)
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
			to.FillPercent = tailFill
			for n := 0; key != nil && n < compactTx; key, value = c.Next() {
				if _, err := unseal(at, key, value); known && err != nil {
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

// catchUp copies what was written since the last look, and answers how much that was.
func (s *Store) catchUp(old *boltFile, next *bbolt.DB) (n int, err error) {
	var tx *bbolt.Tx
	var written touched
	err = s.writer.between(func() (err error) {
		written, s.writer.touched = s.writer.touched, touched{}
		tx, err = old.Begin(false)
		return err
	})
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // it was only read
	return len(written), carryOver(tx, next, written)
}

// takeOver carries over what is left and puts the next file in the old one's place. The writer runs it: nothing is written meanwhile.
func (s *Store) takeOver(old *boltFile, next *bbolt.DB, path string) error {
	tx, err := old.Begin(false)
	if err != nil {
		return err
	}
	err = carryOver(tx, next, s.writer.touched)
	if err = errors.Join(err, tx.Rollback()); err != nil {
		return err
	}
	folder, itself, err := s.placeOf(old, path)
	if err != nil {
		return err
	}
	crash.At(crash.BeforeCompacted)
	if err := os.Rename(path, Path(s.dir)); err != nil {
		return errors.Join(err, folder.Close())
	}
	crash.At(crash.AfterCompacted)
	s.writer.touched = nil
	err = next.View(func(tx *bbolt.Tx) error {
		f, present := &boltFile{DB: next, itself: itself}, s.current()
		f.base = present.tx + 1 - tx.ID()
		s.publish(present.with(f.number(tx), s.writer.edits, nil))
		s.file.Store(f)
		next.AllocSize = old.AllocSize
		return nil
	})
	if err = errors.Join(err, folder.Sync(), folder.Close()); err != nil { // nobody knows which of the two the disk holds
		s.writer.stop(err, &group{})
	}
	return err
}

// placeOf looks at the next file, at path, and whether the old one is still where the next is to be put. The folder is opened before
// anything is renamed in it, for afterwards nothing but the disk may fail.
func (s *Store) placeOf(old *boltFile, path string) (folder *os.File, next os.FileInfo, err error) {
	if err = old.stands(Path(s.dir)); err != nil {
		return nil, nil, err
	}
	if next, err = os.Stat(path); err != nil {
		return nil, nil, err
	}
	folder, err = os.Open(s.dir)
	return folder, next, err
}

// between has the writer run fn between two commits.
func (w *writer) between(fn func() error) (err error) {
	j := &job{after: []func(){func() { err = fn() }}, done: make(chan error, 1)}
	if !w.queue.push(j) {
		return ErrStopped
	}
	if failed := j.wait(); failed != nil {
		return failed
	}
	return err
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

var compactedKey = []byte("compacted") // in meta: of when everything is that the file holds at all, microseconds 8

func compactedAt(v *sight) (int64, error) {
	row, err := v.get(metaBucket, compactedKey)
	if err != nil || len(row) != 8 {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(row)), nil
}
