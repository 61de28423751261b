package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"doorward/kv/disk"
	"doorward/kv/engine/pages"
)

// Config says where a file lies, what is in it, and what it is told of. Path and Schema are needed.
type Config struct {
	Path       string
	Schema     *Schema
	Accept     func(*View) error // looks at a file that is there before anything in it is changed; nil = any is good
	Derive     func(*View) error // reads what is kept in memory beside the file, once the file is accepted; nil = nothing
	Fill       func(*Tx)         // writes what a new file holds; nil = nothing
	Logger     *slog.Logger      // nil = silent
	Registerer prometheus.Registerer
	Room       *disk.Room // on the disk of the file; nil = that of disk.NewRoom
	ReadOnly   bool       // every write fails with ErrReadOnly
	Certain    bool       // of a ReadOnly file whose log is missing or damaged what is certain is read: see Lost
	Unlogged   bool       // a commit goes into the file at once, and there is no log: what tests and benchmarks compare with
}

// Hooks tell the layer above of each group that the writer commits. The writer's goroutine calls them.
type Hooks struct {
	Begin     func()                    // before the first operation
	Kept      func()                    // an operation has succeeded, and its rows are part of the group
	Seal      func(tx *Tx, version int) // the group is whole and not yet durable: its last rows, and what a reader of the version needs besides
	Committed func()                    // the group is durable, and no caller has its answer yet
	Refused   func()                    // instead of Seal: the log has no segment for the group, and nothing of it is kept
}

// DB is an open file with its log and its writer.
type DB struct {
	*current
	journal   *journal
	folding   *folding
	rewriting *rewriting
	writer    *writer
	caches    sync.Pool     // of *cache, for Views
	ended     chan struct{} // closed when the writer has; nil until Start
	closed    sync.Once
}

// newDB makes the sides of a DB, of a file that is not open yet.
func newDB(c Config) *DB {
	now := &current{setup: &setup{c.Path, c.Schema, c.Logger, c.Room, c.ReadOnly, c.Unlogged, c.Certain && c.ReadOnly}, turn: disk.NewTurn()}
	db := &DB{current: now, journal: &journal{current: now}}
	q := newQueue()
	db.folding = newFolding(now, db.journal, q)
	db.rewriting = newRewriting(now, db.journal, db.folding)
	db.writer = &writer{current: now, journal: db.journal, folding: db.folding, queue: q}
	now.woken = func() {
		q.stop()
		now.change.Lock()
		defer now.change.Unlock()
		db.folding.done.Broadcast()
	}
	db.caches.New = func() any { return new(cache) }
	return db
}

// Open opens a file, or makes it where there is none: disk.ErrInUse, *BadFile, or what Accept or Derive return. Nothing can be written before Start.
func Open(c Config) (*DB, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Room == nil {
		c.Room = disk.NewRoom(disk.RoomConfig{Dir: filepath.Dir(c.Path), Logger: c.Logger})
	}
	f, err := guarded(func() (*file, error) { return openFile(c) })
	if err != nil {
		return nil, err
	}
	db := newDB(c)
	_, err = guarded(func() (*DB, error) { return db, db.prepare(f, c) })
	if bad := f.wait(); bad != nil {
		err = bad // of a panic it is the cause
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if c.ReadOnly {
		db.stopped.Store(&stopCause{fmt.Errorf("%w: %w", ErrStopped, ErrReadOnly)})
	} else {
		// A rewriting that did not end may have left these. The lock says that no other process is at it.
		_ = errors.Join(os.Remove(db.rewritten()), disk.Replaced(c.Path))
	}
	db.metrics = newMetrics(db, c.Registerer)
	return db, nil
}

// guarded calls fn, and has a panic be its error: in a damaged file bbolt comes to pages that are none, and reaches beyond the end of the file.
func guarded[T any](fn func() (T, error)) (v T, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if found := recover(); found != nil {
			err = Broken(found)
		}
	}()
	return fn()
}

// Lost says what of a file that was opened with Certain may be missing; "" = nothing.
func (db *DB) Lost() string { return db.lost }

// Start starts the writer.
func (db *DB) Start(h Hooks) {
	db.writer.hooks = h
	db.ended = make(chan struct{})
	go func() {
		defer close(db.ended)
		db.writer.loop()
	}()
	if db.state.Load().gathered != nil {
		db.folding.ring() // a process that was killed has left them
	}
	go db.folding.loop()
}

// Close ends a rewriting, ends the writer after what it has begun, folds what is in the log, and closes the file. Afterwards the file alone
// is whole. A store that has stopped taking writes keeps its log, which has what the file lacks.
func (db *DB) Close() (err error) {
	db.closed.Do(func() { err = db.close() })
	return err
}

func (db *DB) close() (err error) {
	db.rewriting.end()
	db.writer.queue.close()
	if db.ended == nil {
		err = db.journal.close()
	} else {
		<-db.ended
		close(db.folding.end)
		<-db.folding.ended
		err = db.endLog()
	}
	db.metrics.unregister()
	return errors.Join(err, db.state.Load().file.Close())
}

// endLog folds all that the log has, and ends it.
func (db *DB) endLog() error {
	switch {
	case db.journal.wal.Load() == nil:
		return nil
	case db.stopErr() != nil || db.stands() != nil: // the log has what the file lacks, or the file is another's now
		return db.journal.close()
	}
	err := db.folding.fold()
	switch {
	case err == nil:
		return db.journal.end()
	case isNoRoom(err):
		db.log.Warn("the disk has no room to fold the log into the file: the next to open the store does that", slog.Any("cause", err))
		err = nil
	}
	return errors.Join(err, db.journal.close())
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

// Do hands an operation to the writer and waits for its commit: the operation's own error, ErrBusy when nothing of it was done for now,
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

// DoAll hands operations to the writer, each on its own, and waits until all are committed. Each keeps its error. With an error of DoAll the first of them
// may be committed, and the others are not.
func (db *DB) DoAll(ops []Op) error {
	j := &job{ops: ops, done: make(chan error, 1)}
	if !db.writer.queue.push(j) {
		return ErrStopped
	}
	return <-j.done
}

// Fold writes all that is committed into the file. Where the disk has no room for it the error matches syscall.ENOSPC, and the log keeps what
// would have been written.
func (db *DB) Fold() error { return db.folding.fold() }

// CheckLog reads from the disk what the log has beyond the file, and what is gathered, and returns what of it is damaged.
func (db *DB) CheckLog() error {
	db.folding.mu.Lock() // nothing is folded while it reads, so no segment that it needs is used again
	defer db.folding.mu.Unlock()
	err := db.state.Load().file.View(func(tx *bbolt.Tx) error {
		_, err := readGathered(tx)
		return err
	})
	if err != nil || db.journal.wal.Load() == nil || db.journal.check() == nil {
		return err
	}
	db.change.Lock() // the writer may have begun a segment just then: it waits for another look
	defer db.change.Unlock()
	return db.journal.check()
}

// Writable returns nil while check-ins are taken, otherwise what stopped writing for good, or will at the next write, or a *disk.Full.
func (db *DB) Writable() error {
	if err := db.stopErr(); err != nil {
		return err
	}
	if db.stands() != nil {
		db.change.Lock() // a rewriting may have given the next file its name just then: it waits for another look
		defer db.change.Unlock()
		if err := db.stands(); err != nil {
			return fmt.Errorf("%w: %w", ErrStopped, err)
		}
	}
	if err := db.folding.refuses(); err != nil {
		return err
	}
	return db.room.Check(disk.Checkins)
}

// Figures are what an engine does at one moment.
type Figures struct {
	Stopped  error // what has stopped writing for good; nil = nothing has
	Waiting  int   // jobs that wait for the writer
	Rows     int   // in the log and not folded into the file yet
	Bytes    int   // of memory that these rows take
	Records  int   // of the log that are not folded yet
	Segments int   // files of the log, those that are spare too
}

// Figures returns the figures of now. It waits for no commit.
func (db *DB) Figures() Figures {
	s := db.state.Load()
	return Figures{
		Stopped: db.stopErr(), Waiting: db.writer.queue.length(), Segments: db.journal.segments(),
		Rows: s.rows(), Bytes: s.bytes(), Records: s.sequence - int(s.mark.Sequence),
	}
}

// DoorWithin tells whether an operation of a door was begun within the given time.
func (db *DB) DoorWithin(d time.Duration) bool { return db.writer.queue.doorWithin(d) }

// The errors of an engine.
var (
	ErrStopped  = errors.New("the store has stopped taking writes")
	ErrBusy     = errors.New("the store is busy") // too much waits, or too many files are open; nothing was done, try again
	ErrCorrupt  = errors.New("a stored value fails its checksum")
	ErrPanicked = errors.New("the operation panicked")
	ErrReadOnly = errors.New("nothing can be written there")
	ErrTooLong  = errors.New("a key is longer than the file takes")
)

// BadFile is a file that cannot be opened as it is. Nothing was changed in it.
type BadFile struct {
	Path   string
	Reason string // what is wrong with the file, as "is empty"; nothing of what is stored
	Backup string // where the newest backup lies, as a sentence of its own; "" = none is known
}

func (b *BadFile) Error() string {
	text := fmt.Sprintf("the file %s %s", b.Path, b.Reason)
	if b.Backup != "" {
		text += "; " + b.Backup
	}
	return text
}

// Is makes a BadFile an ErrCorrupt.
func (b *BadFile) Is(target error) bool { return target == ErrCorrupt }

// named gives a *BadFile that does not say which file it is the file's path.
func named(path string, err error) error {
	var bad *BadFile
	if errors.As(err, &bad) && bad.Path == "" {
		bad.Path = path
	}
	return err
}

// Blamed is an error of the file at a path in words for its owner: damage comes as a *BadFile, a file that this process may not use names
// its mode.
func Blamed(path string, err error) error {
	var bad *BadFile
	switch {
	case errors.As(err, &bad):
		return bad
	case errors.Is(err, ErrCorrupt), errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum):
		return &BadFile{Path: path, Reason: fmt.Sprintf("is damaged: %v", err)}
	case errors.Is(err, fs.ErrPermission):
		return barred(err)
	}
	return err
}

// barred is an error of a file that this process may not use as it must.
func barred(err error) error {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return err
	}
	wants := "whoever runs doorward must be able to read and write it"
	if info, err := os.Stat(path.Path); err == nil {
		wants += fmt.Sprintf(", and its mode is %04o", info.Mode().Perm())
	}
	return fmt.Errorf("the file %s: %w: %s", path.Path, path.Err, wants)
}

// Broken is the error of a panic that met a broken file. bbolt's own words may hold keys, so they are left out.
func Broken(found any) error {
	if fault, ok := found.(runtime.Error); ok {
		return fmt.Errorf("%w: its structure is broken: %w", ErrCorrupt, fault)
	}
	return fmt.Errorf("%w: its structure is broken", ErrCorrupt)
}

// setup is what a DB is opened with.
type setup struct {
	path     string
	schema   *Schema
	log      *slog.Logger
	room     *disk.Room
	readOnly bool
	unlogged bool
	certain  bool
}

// rewritten is the path of the file that takes this one's place when it is whole.
func (s *setup) rewritten() string { return filepath.Join(filepath.Dir(s.path), rewriteName) }

// current is what the sides of a DB share: the state that readers see, and the error that has ended writing.
type current struct {
	*setup
	change  sync.Mutex // must be held to set the state; the writer holds it while it forms a group
	state   atomic.Pointer[state]
	stopped atomic.Pointer[stopCause]
	copied  atomic.Bool // the file is being rewritten: what is deleted now may be in the next file
	turn    disk.Turn
	metrics *metrics
	lost    string // see Lost
	woken   func() // has whoever waits for a fold look again
}

type stopCause struct{ err error }

// stop ends writing for good: after a failed commit what the disk holds is not known, so nothing is tried again. It returns the error that writers get.
func (c *current) stop(err error) error {
	cause := fmt.Errorf("%w: %w", ErrStopped, err)
	c.stopped.Store(&stopCause{cause})
	go c.woken() // the caller may hold change
	c.log.Error("the store has stopped taking writes", slog.Any("cause", err))
	return cause
}

// stopErr is what has ended writing for good; nil = nothing has.
func (c *current) stopErr() error {
	if cause := c.stopped.Load(); cause != nil {
		return cause.err
	}
	return nil
}

// set makes a state the one that readers see, and keeps the room on the disk that its fold will take.
func (c *current) set(s *state) {
	c.state.Store(s)
	c.room.Reserve(s.reserved())
}

// used is how many bytes of the file hold pages.
func (f *file) used() (n int64) {
	_ = f.View(func(tx *bbolt.Tx) error { n = tx.Size(); return nil }) // the error of a file that is closed comes back at its next use
	return n
}

// stands returns an error where the file that was opened lies at its path no more.
func (c *current) stands() error { return c.state.Load().file.stands(c.path) }

// state is what readers see: the file, and above it the tables with what was committed since. It is never changed; the next one takes its place.
type state struct {
	file     *file
	mark     mark     // what the file says of the log
	tx       int      // of bbolt: the tables hold all that the file does not show in this transaction or a later one
	tables   []*table // the one that is written to, behind it the one that is being folded, and last the gathered rows
	gathered *table   // nil = there are none
	sequence int      // of the latest commit
}

// active is the table that is written to.
func (s *state) active() *table { return s.tables[0] }

// frozen is the table that is being folded; nil = none is.
func (s *state) frozen() *table {
	if unfolded := s.unfolded(); len(unfolded) > 1 {
		return unfolded[1]
	}
	return nil
}

// unfolded are the tables of which only the log is certain to have the rows.
func (s *state) unfolded() []*table {
	if s.gathered == nil {
		return s.tables
	}
	return s.tables[:len(s.tables)-1]
}

// setTables sets the tables above the file. It makes an array of its own, because the old one would keep tables that are folded. frozen may be nil.
func (s *state) setTables(active, frozen *table) {
	s.tables = []*table{active}
	for _, t := range []*table{frozen, s.gathered} {
		if t != nil {
			s.tables = append(s.tables, t)
		}
	}
}

// bytes is the memory of the rows that are not folded.
func (s *state) bytes() (n int) {
	for _, t := range s.unfolded() {
		n += t.bytes
	}
	return n
}

// rows is how many rows are not folded.
func (s *state) rows() (n int) {
	for _, t := range s.unfolded() {
		n += t.rows
	}
	return n
}

// snapshot is a transaction of the file and a state above it that show one moment together. The transaction begins first: what it shows
// was committed before, so the state has it. Where a fold has taken rows out of the tables that the transaction does not show
// yet, it is done again.
func (c *current) snapshot() (*bbolt.Tx, *state, error) {
	return c.snapshotBy(func(f *file) (*bbolt.Tx, error) { return f.Begin(false) })
}

// snapshotBy is snapshot with another way to begin a transaction that reads.
func (c *current) snapshotBy(begin func(*file) (*bbolt.Tx, error)) (*bbolt.Tx, *state, error) {
	for {
		f := c.state.Load().file
		tx, err := begin(f)
		if errors.Is(err, bolterrors.ErrDatabaseNotOpen) && c.state.Load().file != f {
			continue // another took its place just now
		}
		if err != nil {
			return nil, nil, err
		}
		s := c.state.Load()
		if s.file == f && (tx.ID() == s.tx || tx.ID() > s.tx && !c.unlogged) {
			return tx, s, nil
		}
		if err := tx.Rollback(); err != nil {
			return nil, nil, err
		}
	}
}

// view is the View of a state.
func (c *current) view(tx *bbolt.Tx, s *state, kept *cache) *View {
	return &View{tx: tx, schema: c.schema, cache: kept, tables: s.tables, version: s.sequence}
}

// file is the file as it lies open.
type file struct {
	*bbolt.DB
	itself  os.FileInfo
	bytes   atomic.Int64 // its size when it was last looked at
	*survey              // of a file that is being opened
}

// newFile is the file of a database that is open. survey may be nil.
func newFile(db *bbolt.DB, itself os.FileInfo, leaves *survey) *file {
	f := &file{DB: db, itself: itself, survey: leaves}
	f.bytes.Store(itself.Size())
	return f
}

// stands returns an error where the file that was opened lies at its path no more: it was moved, removed or replaced, and the next to open
// the path will not find what is written to it.
func (f *file) stands(path string) error {
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, f.itself) {
		return fmt.Errorf("%s is not the file that was opened: it was moved, removed or replaced", path)
	}
	if err == nil {
		f.bytes.Store(now.Size())
	}
	return nil // what cannot be looked at just now shows itself when it is written to
}

// reserved is how much room on the disk the fold of a state may take: a page for each row, but no more pages than the file has, and the rows
// themselves.
func (s *state) reserved() int64 {
	rows, bytes := 0, 0
	for _, t := range s.tables {
		rows, bytes = rows+t.rows, bytes+t.bytes
	}
	if rows == 0 {
		return 0
	}
	return min(int64(rows)*pages.Size, s.file.bytes.Load()) + 2*int64(bytes)
}
