package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"doorward/kv/disk"
)

// setup is what a DB is opened with.
type setup struct {
	path     string
	schema   *Schema
	log      *slog.Logger
	room     *disk.Room
	readOnly bool
	unlogged bool
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
	woken   func() // has whoever waits for a fold look again
}

type stopCause struct{ err error }

// stop ends writing for good: after a failed commit what the disk holds is not known, so nothing is tried again. It returns the error that writers get.
func (c *current) stop(err error) error {
	cause := fmt.Errorf("%w: %w", ErrStopped, err)
	c.stopped.Store(&stopCause{cause})
	c.metrics.writable.Set(0)
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
	c.room.Reserve(s.reserved(c.path))
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
