package engine

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"doorward/kv/disk"
)

// table holds rows that were written and are not in the file yet, in key order, deletions too. A table that was published is never changed: the
// next group works on a copy, which shares what it does not change.
type table struct {
	trees [NumBuckets]*tree
	owned uint64 // the buckets of which the trees are this table's alone
	hints *hints // shared with the tables that it was copied from: only the last of them is changed
	rows  int
	bytes int  // of memory
	upTo  mark // of a table that is folded: what the file has then
}

type tree = btree.BTreeG[item]

// hints say for each bucket where its last row was put: the next one mostly belongs beside it.
type hints [NumBuckets]btree.PathHint

// item is a row: its key, and behind it the value with its checksum. A deletion has no value.
type item struct {
	row []byte
	key int // length of the key
}

func (it *item) name() []byte   { return it.row[:it.key:it.key] }
func (it *item) sealed() []byte { return it.row[it.key:] }
func (it *item) deleted() bool  { return len(it.row) == it.key }

// plain is the value without its checksum; nil of a deletion.
func (it *item) plain() []byte {
	if it.deleted() {
		return nil
	}
	n := len(it.row) - checksumSize
	return it.row[it.key:n:n]
}

// itemBytes is what a row takes in memory beside its own bytes.
const itemBytes = 64

// treeDegree makes nodes of at most 31 rows: each commit copies the nodes that it changes.
const treeDegree = 16

func newTree() *tree {
	return btree.NewBTreeGOptions(func(a, b item) bool { return bytes.Compare(a.row[:a.key], b.row[:b.key]) < 0 },
		btree.Options{Degree: treeDegree, NoLocks: true})
}

// copy is a table with the same rows, to be changed.
func (t *table) copy() *table {
	c := *t
	c.owned = 0
	return &c
}

// set puts a row into a table that was not published yet.
func (t *table) set(b Bucket, it item) {
	tr := t.trees[b]
	switch {
	case tr == nil:
		tr = newTree()
	case t.owned&(1<<b) == 0:
		tr = tr.Copy()
	}
	if t.hints == nil {
		t.hints = &hints{}
	}
	t.trees[b], t.owned = tr, t.owned|1<<b
	t.bytes += len(it.row) + itemBytes
	if old, replaced := tr.SetHint(it, &t.hints[b]); replaced {
		t.bytes -= len(old.row) + itemBytes // the record that it came with may keep its bytes a little longer
		return
	}
	t.rows++
}

// add puts the rows of a record into a table, which keeps the record's memory.
func (t *table) add(record []byte) error { return eachRow(record, t.set) }

// get finds a row, or its deletion.
func (t *table) get(b Bucket, key []byte) (it item, found bool) {
	tr := t.trees[b]
	if tr == nil {
		return it, false
	}
	return tr.Get(item{row: key, key: len(key)})
}

// rowFeed gives out the rows of a table, bucket by bucket, each in key order.
type rowFeed struct {
	trees  []*tree // those that are left
	iter   btree.IterG[item]
	within bool // iter is in the tree of bucket
	bucket Bucket
	item   item
	over   bool // there are no more
	most   int  // of one transaction; 0 = any number
}

func (t *table) feed() *rowFeed { return &rowFeed{trees: t.trees[:]} }

// next goes to the next row; false where there is none.
func (r *rowFeed) next() bool {
	for {
		if r.within && r.iter.Next() {
			r.item = r.iter.Item()
			return true
		}
		for len(r.trees) > 0 && r.trees[0] == nil {
			r.trees = r.trees[1:]
		}
		if r.over = len(r.trees) == 0; r.over {
			return false
		}
		r.bucket, r.within = Bucket(NumBuckets-len(r.trees)), true
		r.iter.Init(r.trees[0], false)
		r.trees = r.trees[1:]
	}
}

// rowWalk goes through the rows of some tables in key order, up or down. Of rows with one key it shows that of the first table.
type rowWalk struct {
	sources []rowSource
	down    bool
}

// rowSource is one table's rows of a bucket, and where the walk is.
type rowSource struct {
	iter btree.IterG[item]
	at   item
	more bool
}

// walkTables begins a walk at a key: upwards at the first row from it on, downwards at the last row up to it. nil = no table has rows of the
// bucket.
func walkTables(tables []*table, b Bucket, from []byte, down bool) *rowWalk {
	var w *rowWalk
	for _, t := range tables {
		if t.trees[b] == nil {
			continue
		}
		if w == nil {
			w = &rowWalk{down: down, sources: make([]rowSource, 0, len(tables))}
		}
		w.sources = append(w.sources, rowSource{})
		s := &w.sources[len(w.sources)-1]
		s.iter.Init(t.trees[b], false)
		s.seek(item{row: from, key: len(from)}, down)
	}
	return w
}

// seek goes on, upwards, to the first row from a key on that lies behind all that the walk has left.
func (w *rowWalk) seek(from []byte) {
	for i := range w.sources {
		if s := &w.sources[i]; s.more && bytes.Compare(s.at.name(), from) < 0 {
			s.seek(item{row: from, key: len(from)}, false)
		}
	}
}

func (s *rowSource) seek(from item, down bool) {
	more := s.iter.Seek(from)
	if down {
		switch at := s.iter.Item(); {
		case !more:
			more = s.iter.Last()
		case bytes.Compare(at.name(), from.row) > 0:
			more = s.iter.Prev()
		}
	}
	s.set(more)
}

func (s *rowSource) set(more bool) {
	if s.more = more; more {
		s.at = s.iter.Item()
	}
}

// peek is the row where the walk is; nil at its end.
func (w *rowWalk) peek() (best *item) {
	if w == nil {
		return nil
	}
	for i := range w.sources {
		if s := &w.sources[i]; s.more && (best == nil || w.before(s.at.name(), best.name())) {
			best = &s.at
		}
	}
	return best
}

func (w *rowWalk) before(a, b []byte) bool {
	c := bytes.Compare(a, b)
	return c < 0 && !w.down || c > 0 && w.down
}

// step leaves the row with a key, in all tables.
func (w *rowWalk) step(key []byte) {
	for i := range w.sources {
		s := &w.sources[i]
		switch {
		case !s.more || !bytes.Equal(s.at.name(), key):
		case w.down:
			s.set(s.iter.Prev())
		default:
			s.set(s.iter.Next())
		}
	}
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
	c.room.Reserve(s.reserved())
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
