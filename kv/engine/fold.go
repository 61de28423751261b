package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"

	"doorward/kv/crash"
	"doorward/kv/disk"
)

// When what is in the tables is folded into the file, and who waits where the disk cannot keep up.
const (
	foldBytes  = 8 << 20          // at so many bytes
	foldAfter  = 10 * time.Second // so long after the first row
	foldLatest = time.Minute      // so long after it though doors are about
	foldQuiet  = time.Second      // no door was served for so long: then none waits for the fold's syncs
	foldRetry  = time.Second      // after one that found no room
	bulkBytes  = 16 << 20         // from here on bulk work waits
	doorBytes  = 24 << 20         // and from here on doors
)

// folding is what the engine knows of its folds.
type folding struct {
	mu    sync.Mutex    // one fold, or one change of the file, at a time
	wake  chan struct{} // rung when there may be something to do
	end   chan struct{} // closed to end the goroutine
	ended chan struct{} // closed when it has; nil until Start

	// What follows is guarded by DB.commit.
	done  *sync.Cond // a fold has ended
	since time.Time  // of the first row that is not folded
	wrong error      // what the last fold has failed with
}

func newFolding(commit *sync.Mutex) folding {
	return folding{wake: make(chan struct{}, 1), end: make(chan struct{}), done: sync.NewCond(commit)}
}

func (f *folding) ring() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// foldBeside folds while the writer writes, and makes the log's next segment before it is needed.
func (db *DB) foldBeside() {
	defer close(db.folding.ended)
	due := time.NewTimer(time.Hour)
	defer due.Stop()
	for {
		select {
		case <-db.folding.end:
			return
		case <-db.folding.wake:
		case <-due.C:
		}
		db.prepareSegment()
		wait := db.foldDue()
		if wait <= 0 {
			_ = db.Fold() // its error is kept, and tried again or said
			wait = db.foldDue()
		}
		due.Reset(max(wait, time.Millisecond))
	}
}

// prepareSegment makes a spare segment of the log where one is needed soon. The writer makes it itself where that fails.
func (db *DB) prepareSegment() {
	db.commit.Lock()
	journal := db.journal
	db.commit.Unlock()
	if journal == nil || db.Stopped() != nil {
		return
	}
	if err := journal.Prepare(); err != nil {
		db.log.Warn("no segment of the log can be made ahead", slog.Any("cause", err))
	}
}

// foldDue is how long the next fold has time.
func (db *DB) foldDue() time.Duration {
	db.commit.Lock()
	defer db.commit.Unlock()
	s := db.state.Load()
	age := time.Since(db.folding.since)
	switch {
	case s.rows() == 0 || db.Stopped() != nil:
		return time.Hour
	case db.folding.wrong != nil:
		return foldRetry
	case s.active().bytes >= foldBytes:
		return 0
	case age < foldAfter:
		return foldAfter - age
	case age < foldLatest && db.DoorWithin(foldQuiet):
		return foldQuiet
	}
	return 0
}

// Fold writes all that is committed into the file. Where the disk has no room for it the error matches syscall.ENOSPC, and the log keeps what
// would have been written.
func (db *DB) Fold() error {
	db.folding.mu.Lock()
	defer db.folding.mu.Unlock()
	for range 2 { // one table may be left of a fold that found no room
		if err := db.foldTable(); err != nil {
			return err
		}
	}
	return nil
}

// foldTable folds one table. There may be nothing in it.
func (db *DB) foldTable() error {
	t := db.freeze()
	if t == nil {
		return nil
	}
	if err := db.Stopped(); err != nil {
		return err
	}
	crash.At(crash.BeforeFold)
	start := time.Now()
	tx, err := db.apply(t)
	if err == nil {
		crash.At(crash.AfterFold)
		err = db.state.Load().file.stands(db.path)
	}
	db.commit.Lock()
	defer db.commit.Unlock()
	defer db.folding.done.Broadcast()
	if db.folding.wrong = err; err != nil {
		err = fmt.Errorf("fold the log into the file: %w", err)
		if !isNoRoom(err) {
			db.writer.stop(err, nil)
		}
		return err
	}
	s := db.state.Load()
	db.set(&state{file: s.file, tx: tx, tables: s.tables[:1:1], sequence: s.sequence})
	db.folded, db.folding.since = t.upTo, time.Now()
	db.touch(t)
	db.writer.queue.hold(false)
	db.journal.Release(t.upTo.Sequence)
	db.metrics.folded(t, time.Since(start))
	return nil
}

// freeze has the next group begin a new table, and returns the one to fold; nil = there is nothing to fold.
func (db *DB) freeze() *table {
	db.commit.Lock()
	defer db.commit.Unlock()
	s := db.state.Load()
	if t := s.frozen(); t != nil {
		return t
	}
	t := s.active()
	if t.rows == 0 || db.journal == nil {
		return nil
	}
	t = t.copy()
	t.upTo = mark{db.folded.log, db.folded.term, db.journal.Tail()}
	db.set(&state{file: s.file, tx: s.tx, tables: []*table{{}, t}, sequence: s.sequence})
	return t
}

// apply writes a table's rows and its mark into the file, in one transaction of bbolt, and returns the transaction's number.
func (db *DB) apply(t *table) (number int, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if found := recover(); found != nil {
			err = Broken(found)
		}
	}()
	err = db.state.Load().file.Update(func(tx *bbolt.Tx) error {
		number = tx.ID()
		v := View{tx: tx, schema: db.schema, cache: &cache{}}
		if err := v.write(t); err != nil {
			return err
		}
		return t.upTo.put(tx)
	})
	return number, err
}

// write writes a table's rows into the View's transaction.
func (v *View) write(t *table) (err error) {
	for b, tr := range t.trees {
		if tr == nil {
			continue
		}
		in := v.in(Bucket(b))
		tr.Scan(func(it item) bool {
			if it.deleted() {
				err = in.Delete(it.name())
			} else {
				err = in.Put(it.name(), it.sealed())
			}
			return err == nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isNoRoom tells an error of a write that found no room on the disk. What an error of a sync leaves is not known.
func isNoRoom(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && (path.Op == "write" || path.Op == "truncate") && errors.Is(err, syscall.ENOSPC)
}

// reserved is how much room on the disk the fold of a state may take: a page for each row, but no more pages than the file has, and the rows
// themselves.
func (s *state) reserved(path string) int64 {
	rows := s.rows()
	if rows == 0 {
		return 0
	}
	return min(int64(rows)*pageSize, disk.Size(path)) + 2*int64(s.bytes())
}
