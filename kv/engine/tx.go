package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/tidwall/btree"
	"go.etcd.io/bbolt"
)

// Tx is one operation: a View that also shows what the operation has written, and takes writes. Nothing of it remains if its function returns
// an error.
type Tx struct {
	View
	current *current
	full    error    // a *disk.Full: what is written will be refused
	after   []func() // run once they are durable
}

// Put sets a value; both slices are copied.
func (tx *Tx) Put(b Bucket, key, value []byte) { tx.over.put(b, key, value) }

// Delete removes a row, if it is there.
func (tx *Tx) Delete(b Bucket, key []byte) { tx.over.set(b, key, nil, true) }

// Written calls fn with each row under a prefix that the operation has written, as it is now. The value is nil if the row was deleted.
func (tx *Tx) Written(b Bucket, prefix []byte, fn func(key, is []byte) error) error {
	for _, e := range tx.over.from(b, prefix) {
		if e.bucket != b || !bytes.HasPrefix(e.key, prefix) {
			break
		}
		if err := fn(e.key, e.plain()); err != nil {
			return err
		}
	}
	return nil
}

// Before returns a row as it was before the operation, nil if it was not there.
func (tx *Tx) Before(b Bucket, key []byte) ([]byte, error) {
	before := tx.View
	before.over = nil
	return before.Get(b, key)
}

// OnCommitted has fn run when the operation is durable, before its caller has the answer.
func (tx *Tx) OnCommitted(fn func()) { tx.after = append(tx.after, fn) }

// Full is a *disk.Full where nothing that the operation writes will be kept; otherwise nil.
func (tx *Tx) Full() error { return tx.full }

// Rewriting tells whether Rewrite copies the file just now, so that the new file may hold what the operation deletes.
func (tx *Tx) Rewriting() bool { return tx.current != nil && tx.current.copied.Load() }

// flush moves an operation's rows into the transaction of bbolt.
func (v *View) flush() error {
	for i := range v.over.entries {
		e := &v.over.entries[i]
		var err error
		if e.deleted {
			err = v.in(e.bucket).Delete(e.key)
		} else {
			err = v.in(e.bucket).Put(e.key, e.sealed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// operation is one in a transaction of its own, of a file that no writer serves.
func operation(tx *bbolt.Tx, schema *Schema) *Tx {
	return &Tx{View: View{tx: tx, schema: schema, cache: &cache{}, over: &overlay{arena: &arena{}}}}
}

// A record of the log is the rows of one group, one behind the other: bucket 1, length of the key uv, length of the value with its
// checksum uv, key, value. A deletion has the length 0 and no value.

// appendRows appends the rows of an operation as a record has them.
func appendRows(dst []byte, entries []entry) []byte {
	for i := range entries {
		e := &entries[i]
		dst = appendRow(dst, e.bucket, e.key, e.sealed)
	}
	return dst
}

func appendRow(dst []byte, b Bucket, key, sealed []byte) []byte {
	dst = append(dst, byte(b))
	dst = binary.AppendUvarint(dst, uint64(len(key)))
	dst = binary.AppendUvarint(dst, uint64(len(sealed)))
	return append(append(dst, key...), sealed...)
}

// rowsSize is at least as many bytes as appendRows appends.
func rowsSize(entries []entry) (n int) {
	for i := range entries {
		n += 1 + 2*binary.MaxVarintLen32 + len(entries[i].key) + len(entries[i].sealed)
	}
	return n
}

// eachRow calls fn with the rows of a record. The items share the record's memory.
func eachRow(record []byte, fn func(b Bucket, it item)) error {
	for rest := record; len(rest) > 0; {
		b := Bucket(rest[0])
		key, n := binary.Uvarint(rest[1:])
		if n <= 0 {
			return errBatch
		}
		rest = rest[1+n:]
		sealed, n := binary.Uvarint(rest)
		if n <= 0 || key > uint64(len(rest)-n) || sealed > uint64(len(rest)-n)-key || b >= NumBuckets {
			return errBatch
		}
		rest = rest[n:]
		end := int(key + sealed)
		fn(b, item{row: rest[:end:end], key: int(key)})
		rest = rest[end:]
	}
	return nil
}

var errBatch = fmt.Errorf("%w: a record of the log holds no rows", ErrCorrupt)

// touched are the rows that were written into the file while it is rewritten: bucket 1, key.
type touched map[string]struct{}

// note notes the rows of a table that goes into the file.
func (t touched) note(from *table) {
	for b, tr := range from.trees {
		if tr == nil {
			continue
		}
		tr.Scan(func(it item) bool {
			t[string(append([]byte{byte(b)}, it.name()...))] = struct{}{}
			return true
		})
	}
}

// carryOver makes rows in the next file what they are in the old one, and its mark.
func (s *Schema) carryOver(old *bbolt.Tx, next *bbolt.DB, written touched) error {
	m, err := readMark(old)
	if err != nil {
		return err
	}
	return next.Update(func(tx *bbolt.Tx) error {
		from, to := View{tx: old, schema: s, cache: &cache{}}, View{tx: tx, schema: s, cache: &cache{}}
		for row := range written {
			b, key := Bucket(row[0]), []byte(row[1:])
			var err error
			if value := from.in(b).Get(key); value != nil {
				err = to.in(b).Put(key, value)
			} else {
				err = to.in(b).Delete(key)
			}
			if err != nil {
				return err
			}
		}
		return m.put(tx)
	})
}

// overlay holds what one operation has written, in key order, until the operation has succeeded.
type overlay struct {
	entries []entry
	bytes   int
	arena   *arena
}

// entry is one written row. sealed ends with the checksum; it is nil for a deletion.
type entry struct {
	bucket      Bucket
	deleted     bool
	key, sealed []byte
}

func (e *entry) plain() []byte {
	if e.deleted {
		return nil
	}
	n := len(e.sealed) - checksumSize
	return e.sealed[:n:n]
}

// place is where a key stands or would stand.
func (o *overlay) place(b Bucket, key []byte) (int, bool) {
	i := sort.Search(len(o.entries), func(i int) bool {
		e := &o.entries[i]
		return e.bucket > b || e.bucket == b && bytes.Compare(e.key, key) >= 0
	})
	return i, i < len(o.entries) && o.entries[i].bucket == b && bytes.Equal(o.entries[i].key, key)
}

func (o *overlay) find(b Bucket, key []byte) *entry {
	if len(o.entries) == 0 {
		return nil
	}
	if i, ok := o.place(b, key); ok {
		return &o.entries[i]
	}
	return nil
}

func (o *overlay) from(b Bucket, key []byte) []entry {
	i, _ := o.place(b, key)
	return o.entries[i:]
}

func (o *overlay) put(b Bucket, key, value []byte) {
	sealed := o.arena.take(len(value) + checksumSize)
	copy(sealed, value)
	binary.BigEndian.PutUint32(sealed[len(value):], checksum(b, key, value))
	o.set(b, key, sealed, false)
}

func (o *overlay) set(b Bucket, key, sealed []byte, deleted bool) {
	o.bytes += len(key) + len(sealed)
	i, ok := o.place(b, key)
	if ok {
		o.entries[i].sealed, o.entries[i].deleted = sealed, deleted
		return
	}
	kept := o.arena.take(len(key))
	copy(kept, key)
	o.entries = append(o.entries, entry{})
	copy(o.entries[i+1:], o.entries[i:])
	o.entries[i] = entry{bucket: b, deleted: deleted, key: kept, sealed: sealed}
}

// tooLong tells whether a key is longer than bbolt takes: keys of lookups hold what clients have sent.
func (o *overlay) tooLong() bool {
	return slices.ContainsFunc(o.entries, func(e entry) bool { return len(e.key) > bbolt.MaxKeySize })
}

func (o *overlay) reset() {
	clear(o.entries)
	o.entries, o.bytes = o.entries[:0], 0
}

// arena hands out memory that lives until the group is committed: bbolt keeps the slices that it is given until then.
type arena struct {
	blocks [][]byte
	used   int // blocks in use; the last of them is being cut
}

const arenaBlock = 256 << 10

func (a *arena) take(n int) []byte {
	if n > arenaBlock/4 {
		return make([]byte, n)
	}
	if a.used == 0 || cap(a.blocks[a.used-1])-len(a.blocks[a.used-1]) < n {
		if a.used == len(a.blocks) {
			a.blocks = append(a.blocks, make([]byte, 0, arenaBlock))
		}
		a.used++
		a.blocks[a.used-1] = a.blocks[a.used-1][:0]
	}
	block := &a.blocks[a.used-1]
	at := len(*block)
	*block = (*block)[:at+n]
	return (*block)[at : at+n : at+n]
}

// reset takes everything back. Beyond a group's usual size the blocks are given to the collector.
func (a *arena) reset() {
	if len(a.blocks) > 32 {
		a.blocks = a.blocks[:32]
	}
	a.used = 0
}

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

func (it *item) name() []byte { return it.row[:it.key:it.key] }

func (it *item) sealed() []byte { return it.row[it.key:] }

func (it *item) deleted() bool { return len(it.row) == it.key }

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
