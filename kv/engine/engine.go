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

	"github.com/prometheus/client_golang/prometheus"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
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
}

// Hooks tell the layer above of each group that the writer commits. The writer's goroutine calls them.
type Hooks struct {
	Begin     func()                    // before the first operation
	Seal      func(tx *Tx, version int) // the group is whole and not yet durable: its last rows, and what a reader of the version needs besides
	Committed func()                    // the group is durable, and no caller has its answer yet
}

// DB is an open file with its writer.
type DB struct {
	path    string
	schema  *Schema
	file    atomic.Pointer[file]
	log     *slog.Logger
	room    *disk.Room
	turn    disk.Turn
	writer  *writer
	caches  sync.Pool // of *cache, for Views
	metrics *metrics
	rewrite rewriting
	ended   chan struct{} // closed when the writer has; nil until Start
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
	db = &DB{path: c.Path, schema: c.Schema, log: c.Logger, room: c.Room, turn: disk.NewTurn()}
	db.file.Store(f)
	db.rewrite.closing, db.rewrite.close = context.WithCancel(context.Background())
	db.caches.New = func() any { return new(cache) }
	db.writer = &writer{db: db, queue: newQueue()}
	if err := prepare(f.DB, c); err != nil {
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
}

// Close ends a rewriting, ends the writer after what it has begun, and closes the file.
func (db *DB) Close() error {
	db.rewrite.end()
	db.writer.queue.close()
	if db.ended != nil {
		<-db.ended
	}
	db.metrics.unregister()
	return db.file.Load().Close()
}

// View calls fn with the latest committed state. What fn finds damaged is its error to return.
func (db *DB) View(fn func(*View) error) error {
	c := db.caches.Get().(*cache)
	defer func() {
		*c = cache{}
		db.caches.Put(c)
	}()
	for {
		f := db.file.Load()
		err := f.View(func(tx *bbolt.Tx) error {
			return fn(&View{tx: tx, schema: db.schema, cache: c, version: f.version(tx)})
		})
		if errors.Is(err, bolterrors.ErrDatabaseNotOpen) && db.file.Load() != f {
			continue // another took its place before the View began
		}
		return err
	}
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
	if err := db.file.Load().stands(db.path); err != nil {
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

// CopyTo writes the file as it is now to f, and then syncs nothing: that is the caller's part. about is given the View that is copied. It holds
// the View while it does, so pages that are freed are not used again, and no commit can map a larger file: f must lie on a disk that is as
// fast as the file's own.
func (db *DB) CopyTo(f disk.SyncWriter, about func(*View) error) (n int64, err error) {
	err = db.View(func(v *View) error {
		if err := about(v); err != nil {
			return err
		}
		n, err = v.tx.WriteTo(db.turn.Throttle(f))
		return err
	})
	return n, err
}

// rewritten is the path of the file that takes this one's place when it is whole.
func (db *DB) rewritten() string { return filepath.Join(filepath.Dir(db.path), RewriteName) }
