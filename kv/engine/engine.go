package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"doorward/kv/disk"
	"doorward/kv/engine/wal"

	"github.com/prometheus/client_golang/prometheus"
)

// Config says where a file lies, what is in it, and what it is told of. Path and Schema are needed.
type Config struct {
	Path       string
	Schema     *Schema
	Accept     func(*View) error // looks at a file that is there before anything in it is changed; nil = any is good
	Fill       func(*Tx)         // writes what a new file holds; nil = nothing
	Logger     *slog.Logger      // nil = silent
	Registerer prometheus.Registerer
	Room       *disk.Room // on the disk of the file; nil = that of disk.NewRoom
	ReadOnly   bool       // every write fails with ErrReadOnly
	Unlogged   bool       // a commit goes into the file at once, and there is no log: what tests and benchmarks compare with
}

// Hooks tell the layer above of each group that the writer commits. The writer's goroutine calls them.
type Hooks struct {
	Begin     func()                    // before the first operation
	Seal      func(tx *Tx, version int) // the group is whole and not yet durable: its last rows, and what a reader of the version needs besides
	Committed func()                    // the group is durable, and no caller has its answer yet
}

// DB is an open file with its writer.
type DB struct {
	*setup
	state   atomic.Pointer[state]
	commit  sync.Mutex // the writer's while it forms a group, and of whoever sets the state
	journal *wal.Log   // nil until the first record; guarded by commit
	folded  mark       // what the file says of the log; as above
	turn    disk.Turn
	writer  *writer
	caches  sync.Pool // of *cache, for Views
	metrics *metrics
	rewrite rewriting
	folding folding
	ended   chan struct{} // closed when the writer has; nil until Start
	closed  sync.Once
}

// setup is what a DB is opened with.
type setup struct {
	path     string
	schema   *Schema
	log      *slog.Logger
	room     *disk.Room
	readOnly bool
	unlogged bool
}

// Open opens a file, or makes it where there is none: disk.ErrInUse, *BadFile, or what Config.Accept returns. Nothing can be written before Start.
func Open(c Config) (db *DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if found := recover(); found != nil { // bbolt reaches beyond the end of a file that was cut short
			db, err = nil, Broken(found)
		}
	}()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Room == nil {
		c.Room = disk.NewRoom(disk.RoomConfig{Dir: filepath.Dir(c.Path), Logger: c.Logger})
	}
	f, err := openFile(c)
	if err != nil {
		return nil, err
	}
	db = &DB{
		setup: &setup{c.Path, c.Schema, c.Logger, c.Room, c.ReadOnly, c.Unlogged}, turn: disk.NewTurn(),
	}
	db.folding = newFolding(&db.commit)
	db.rewrite.closing, db.rewrite.close = context.WithCancel(context.Background())
	db.caches.New = func() any { return new(cache) }
	db.writer = &writer{db: db, queue: newQueue()}
	if err := db.prepare(f, c); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if c.ReadOnly {
		db.writer.stopped.Store(&stopCause{fmt.Errorf("%w: %w", ErrStopped, ErrReadOnly)})
	} else {
		_ = os.Remove(db.rewritten()) // of a rewriting that did not end: the lock says that no other process is at it
	}
	db.metrics = newMetrics(db, c.Registerer)
	return db, nil
}

// Start starts the writer.
func (db *DB) Start(h Hooks) {
	db.writer.hooks = h
	db.ended = make(chan struct{})
	go func() {
		defer close(db.ended)
		db.writer.loop()
	}()
	db.folding.ended = make(chan struct{})
	go db.foldBeside()
}

// Close ends a rewriting, ends the writer after what it has begun, folds what is in the log, and closes the file. Afterwards the file alone
// is whole. A store that has stopped taking writes keeps its log, which has what the file lacks.
func (db *DB) Close() (err error) {
	db.closed.Do(func() { err = db.close() })
	return err
}

func (db *DB) close() (err error) {
	db.rewrite.end()
	db.writer.queue.close()
	if db.ended != nil {
		<-db.ended
		close(db.folding.end)
		<-db.folding.ended
		err = db.endLog()
	} else if db.journal != nil {
		err = db.journal.Close()
	}
	db.metrics.unregister()
	return errors.Join(err, db.state.Load().file.Close())
}

// View calls fn with the latest committed state. What fn finds damaged is its error to return.
func (db *DB) View(fn func(*View) error) error {
	c := db.caches.Get().(*cache)
	defer func() {
		*c = cache{}
		db.caches.Put(c)
	}()
	tx, at, err := db.snapshot()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it was only read
	return fn(db.view(tx, at, c))
}

// Do hands an operation to the writer and waits for its commit: the operation's own error, ErrBusy when the writer did not begin it in time,
// ErrStopped, a *disk.Full, ErrPanicked. Doors go first.
func (db *DB) Do(door bool, run func(*Tx) error) error {
	j := &job{door: door, ops: []Op{{Run: run}}, done: make(chan error, 1)}
	if !db.writer.queue.push(j) {
		return ErrStopped
	}
	if err := j.wait(); err != nil {
		return err
	}
	return j.ops[0].Err
}

// DoAll hands operations to the writer, each on its own, and waits until all are committed. Each keeps its error.
func (db *DB) DoAll(ops []Op) error {
	j := &job{ops: ops, done: make(chan error, 1)}
	if !db.writer.queue.push(j) {
		return ErrStopped
	}
	return <-j.done
}

// DoorWithin tells whether an operation of a door was taken within the given time.
func (db *DB) DoorWithin(d time.Duration) bool { return db.writer.queue.doorWithin(d) }

// Waiting is how many jobs wait for the writer.
func (db *DB) Waiting() int { return db.writer.queue.length() }

// Writable returns nil while check-ins are taken, otherwise what stopped writing for good, or will at the next write, or a *disk.Full.
func (db *DB) Writable() error {
	if err := db.Stopped(); err != nil {
		return err
	}
	if err := db.state.Load().file.stands(db.path); err != nil {
		return err
	}
	return db.room.Check(disk.Checkins)
}

// Stopped is what has stopped writing for good; nil = nothing has.
func (db *DB) Stopped() error {
	if cause := db.writer.stopped.Load(); cause != nil {
		return cause.err
	}
	return nil
}

// rewritten is the path of the file that takes this one's place when it is whole.
func (db *DB) rewritten() string { return filepath.Join(filepath.Dir(db.path), RewriteName) }
