package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"go.etcd.io/bbolt"
)

// View is one committed state of the rows: those of the file, under those that are not folded into it yet; within an operation also what the operation and those before it have written. It is valid until
// the function that was given it returns, and so are the slices that it returns, which must not be changed.
type View struct {
	tx      *bbolt.Tx
	schema  *Schema
	cache   *cache
	tables  []*table // above the file, newest first; within an operation the first has what the group has written
	over    *overlay // what an operation has written; nil = a View of the committed state
	version int
}

// cache holds the buckets that a transaction has opened, and for each the cursor of the last scan, to be used again.
type cache [NumBuckets]struct {
	bucket *bbolt.Bucket
	cursor *bbolt.Cursor
}

// Version is the number of the commit that the View shows; an operation's is that of the commit before it.
func (v *View) Version() int { return v.version }

// Writing tells whether the View is that of an operation.
func (v *View) Writing() bool { return v.over != nil }

// Beside calls fn with another View of the same state, on a goroutine of its own if the caller likes. It returns ErrBusy where
// the file shows a later state already, which it does not while Config.Derive runs. What fn finds damaged is its error to return, a panic too.
func (v *View) Beside(fn func(*View) error) error {
	_, err := guarded(func() (none struct{}, err error) {
		tx, err := v.tx.DB().Begin(false)
		if err != nil {
			return none, err
		}
		defer func() { _ = tx.Rollback() }() // it was only read
		if tx.ID() != v.tx.ID() {
			return none, ErrBusy
		}
		return none, fn(&View{tx: tx, schema: v.schema, cache: &cache{}, tables: v.tables, version: v.version})
	})
	return err
}

// in opens a bucket; nil where an older file has none.
func (v *View) in(b Bucket) *bbolt.Bucket {
	at := &v.cache[b]
	if at.bucket == nil {
		d := &v.schema[b]
		at.bucket = d.fill(v.tx.Bucket([]byte(d.Name)))
	}
	return at.bucket
}

// lend hands out a cursor of a bucket; a scan within a scan of the same bucket gets another one.
func (v *View) lend(b Bucket) *bbolt.Cursor {
	c := v.cache[b].cursor
	if c == nil {
		return v.in(b).Cursor()
	}
	v.cache[b].cursor = nil
	return c
}

// Get returns a value, nil where there is none: ErrCorrupt.
func (v *View) Get(b Bucket, key []byte) ([]byte, error) {
	if v.over != nil {
		if e := v.over.find(b, key); e != nil {
			return e.plain(), nil
		}
	}
	for _, t := range v.tables {
		if it, found := t.get(b, key); found {
			return it.plain(), nil
		}
	}
	c := v.lend(b)
	defer func() { v.cache[b].cursor = c }()
	after, sealed := c.Seek(key)
	if bytes.Equal(after, key) {
		return v.schema.unseal(b, key, sealed)
	}
	if err := v.schema.checkAfter(b, key, after, sealed); err != nil {
		return nil, err
	}
	_, err := v.checkBefore(c, b, key)
	return nil, err
}

// checkBefore checks the row before the place where a cursor stands, which it moves there. first tells that there is none.
func (v *View) checkBefore(c *bbolt.Cursor, b Bucket, from []byte) (first bool, err error) {
	before, sealed := c.Prev()
	if before == nil {
		return true, nil
	}
	if bytes.Compare(before, from) >= 0 {
		return false, v.schema.outOfOrder(b)
	}
	return false, v.schema.checkNeighbour(b, before, sealed)
}

// Scan calls fn with each row under a prefix, in key order, from the key `from` on (nil: from the first), until fn returns
// false: ErrCorrupt. fn must not write rows.
func (v *View) Scan(b Bucket, prefix, from []byte, fn func(key, value []byte) (bool, error)) error {
	if bytes.Compare(from, prefix) < 0 {
		from = prefix
	}
	c := v.lend(b)
	defer func() { v.cache[b].cursor = c }()
	key, sealed, err := v.seek(c, b, prefix, from)
	if err != nil {
		return err
	}
	above := v.above(b, prefix, from)
	for {
		if key != nil && !bytes.HasPrefix(key, prefix) {
			if err := v.schema.checkAfter(b, from, key, sealed); err != nil {
				return err
			}
			key = nil
		}
		var written, value []byte
		var deleted bool
		if above.any() {
			written, value, deleted = above.peek()
		}
		switch {
		case key == nil && written == nil:
			return nil
		case written != nil && (key == nil || bytes.Compare(written, key) <= 0):
			if bytes.Equal(written, key) {
				key, sealed = c.Next()
			}
			above.step(written)
			if deleted {
				continue
			}
			if more, err := fn(written, value); err != nil || !more {
				return err
			}
		default:
			value, err := v.schema.unseal(b, key, sealed)
			if err != nil {
				return err
			}
			if more, err := fn(key, value); err != nil || !more {
				return err
			}
			key, sealed = c.Next()
		}
	}
}

// above are the rows of a bucket under a prefix that lie above the file, in key order: an operation's own, and those of the tables.
type above struct {
	bucket Bucket
	prefix []byte
	over   []entry
	walk   *rowWalk
}

func (v *View) above(b Bucket, prefix, from []byte) above {
	a := above{bucket: b, prefix: prefix, walk: walkTables(v.tables, b, from, false)}
	if v.over != nil {
		a.over = v.over.from(b, from)
	}
	return a
}

// any tells whether there may be a row.
func (a *above) any() bool { return len(a.over) > 0 || a.walk != nil }

// peek is the next row; its key is nil at the end.
func (a *above) peek() (key, value []byte, deleted bool) {
	if len(a.over) > 0 && (a.over[0].bucket != a.bucket || !bytes.HasPrefix(a.over[0].key, a.prefix)) {
		a.over = nil
	}
	it := a.walk.peek()
	if it != nil && !bytes.HasPrefix(it.name(), a.prefix) {
		a.walk, it = nil, nil
	}
	if len(a.over) > 0 && (it == nil || bytes.Compare(a.over[0].key, it.name()) <= 0) {
		e := &a.over[0]
		return e.key, e.plain(), e.deleted
	}
	if it == nil {
		return nil, nil, false
	}
	return it.name(), it.plain(), it.deleted()
}

// step leaves the row with a key.
func (a *above) step(key []byte) {
	if len(a.over) > 0 && bytes.Equal(a.over[0].key, key) {
		a.over = a.over[1:]
	}
	if a.walk != nil {
		a.walk.step(key)
	}
}

// seek finds the first row from a key on, with a look at the one before it.
func (v *View) seek(c *bbolt.Cursor, b Bucket, prefix, from []byte) (key, sealed []byte, err error) {
	key, sealed = c.Seek(from)
	found := key != nil && bytes.HasPrefix(key, prefix)
	first, err := v.checkBefore(c, b, from)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case !found:
		return key, sealed, nil // the scan is over: the cursor need not come back
	case first:
		key, sealed = c.Seek(from)
	default:
		key, sealed = c.Next()
	}
	if key != nil && bytes.Compare(key, from) < 0 {
		return nil, nil, v.schema.outOfOrder(b)
	}
	return key, sealed, nil
}

// ScanDown is Scan in falling order of the keys, from the key `from` or the last before it on. It does not read what the operation itself has
// written.
func (v *View) ScanDown(b Bucket, prefix, from []byte, fn func(key, value []byte) (bool, error)) error {
	c := v.in(b).Cursor()
	key, sealed := c.Seek(from)
	if key == nil {
		key, sealed = c.Last()
	}
	walk := walkTables(v.tables, b, from, true)
	for {
		it := walk.peek()
		if it != nil && (key == nil || bytes.Compare(it.name(), key) >= 0) {
			name, value, deleted := it.name(), it.plain(), it.deleted()
			if bytes.Equal(name, key) {
				key, sealed = c.Prev()
			}
			walk.step(name)
			switch {
			case bytes.Compare(name, prefix) < 0:
				walk = nil // what is below it in the file is looked at once more, for damage
				continue
			case deleted || !bytes.HasPrefix(name, prefix):
				continue
			}
			if more, err := fn(name, value); err != nil || !more {
				return err
			}
			continue
		}
		if key == nil {
			return nil
		}
		value, err := v.schema.unseal(b, key, sealed) // also on either side: the key of a row that seems to be another's may be damaged
		switch {
		case err != nil:
			return err
		case bytes.Compare(key, prefix) < 0:
			return nil
		case bytes.Compare(key, from) <= 0 && bytes.HasPrefix(key, prefix):
			if more, err := fn(key, value); err != nil || !more {
				return err
			}
		}
		key, sealed = c.Prev()
	}
}

// Count is how many committed rows a bucket has. It reads all pages of the bucket.
func (v *View) Count(b Bucket) int {
	n := v.in(b).Stats().KeyN
	c := v.in(b).Cursor()
	walk := walkTables(v.tables, b, nil, false)
	for it := walk.peek(); it != nil; it = walk.peek() {
		key, _ := c.Seek(it.name())
		switch below := bytes.Equal(key, it.name()); {
		case below && it.deleted():
			n--
		case !below && !it.deleted():
			n++
		}
		walk.step(it.name())
	}
	return n
}

// Cursor walks the committed rows of a bucket, the damaged ones too. The Row that Seek and Next return is the Cursor's own, and shows the row where it
// stands: to copy it for each row costs as much as to find it.
type Cursor struct {
	row   Row
	at    *bbolt.Cursor
	merge *merge // nil = no row of the bucket lies above the file
}

// merge is a cursor's place in the file and in the tables.
type merge struct {
	tables      []*table
	walk        *rowWalk
	key, sealed []byte // where it is in the file
}

// Cursor makes a cursor of a bucket.
func (v *View) Cursor(b Bucket) Cursor {
	c := Cursor{row: Row{bucket: b, schema: v.schema}, at: v.in(b).Cursor()}
	for _, t := range v.tables {
		if t.trees[b] != nil {
			c.merge = &merge{tables: v.tables}
		}
	}
	return c
}

// Seek goes to the first row from a key on.
func (c *Cursor) Seek(from []byte) *Row {
	m := c.merge
	if m == nil {
		c.row.Key, c.row.sealed = c.at.Seek(from)
		return &c.row
	}
	onwards := c.row.Key != nil && bytes.Compare(c.row.Key, from) < 0 // then whatever stands behind the key is there already
	if !onwards || m.key != nil && bytes.Compare(m.key, from) < 0 {
		m.key, m.sealed = c.at.Seek(from)
	}
	if onwards {
		m.walk.seek(from)
	} else {
		m.walk = walkTables(m.tables, c.row.bucket, from, false)
	}
	c.row.Key, c.row.sealed = m.next(c.at)
	return &c.row
}

// Next goes to the next row.
func (c *Cursor) Next() *Row {
	if c.merge == nil {
		c.row.Key, c.row.sealed = c.at.Next()
	} else {
		c.row.Key, c.row.sealed = c.merge.next(c.at)
	}
	return &c.row
}

// next is the first row of the file and the tables that was not given out yet.
func (m *merge) next(at *bbolt.Cursor) (key, sealed []byte) {
	for {
		it := m.walk.peek()
		if it == nil || m.key != nil && bytes.Compare(m.key, it.name()) < 0 {
			key, sealed = m.key, m.sealed
			if key != nil {
				m.key, m.sealed = at.Next()
			}
			return key, sealed
		}
		key, sealed = it.name(), it.sealed()
		if bytes.Equal(key, m.key) {
			m.key, m.sealed = at.Next()
		}
		m.walk.step(key)
		if len(sealed) > 0 {
			return key, sealed
		}
	}
}

// Row is a row with a value that is not checked yet. Its key is nil where there is none.
type Row struct {
	Key    []byte
	sealed []byte
	bucket Bucket
	schema *Schema
}

// Value returns the value: ErrCorrupt where its checksum fails.
func (r *Row) Value() ([]byte, error) { return r.schema.unseal(r.bucket, r.Key, r.sealed) }

// Bucket is the number of one of the file's buckets. It is part of each checksum, so numbers are never used again.
type Bucket byte

// NumBuckets is how many numbers there are.
const NumBuckets = 64

// How full bbolt leaves the pages of a bucket that it splits. Where keys come in order, at the bucket's end or at the ends of ranges within
// it, half-empty pages would stay half empty.
const (
	tailFill  = 0.97
	rangeFill = 0.9
)

// Schema has the buckets of a file by their numbers.
type Schema [NumBuckets]Def

// Def describes a bucket; the zero Def is none.
type Def struct {
	Name      string
	Tail      bool                  // new keys mostly come behind all others
	Ranges    bool                  // new keys mostly come at the ends of ranges
	Scattered bool                  // new keys come anywhere, so nearly each lies in another page: they are gathered (fold.go)
	IsKey     func(key []byte) bool // tells a key that the bucket may have, where all are known; nil = any
}

// fill sets how full bbolt leaves the pages of a bucket.
func (d *Def) fill(b *bbolt.Bucket) *bbolt.Bucket {
	switch {
	case b == nil:
	case d.Tail:
		b.FillPercent = tailFill
	case d.Ranges:
		b.FillPercent = rangeFill
	}
	return b
}

// named finds a bucket by its name in the file. A bucket that a later version has made is not known.
func (s *Schema) named(name []byte) (b Bucket, known bool) {
	at := slices.IndexFunc(s[:], func(d Def) bool { return d.Name != "" && d.Name == string(name) })
	return Bucket(max(0, at)), at >= 0
}

// checksumSize is the length of the CRC32C at the end of each value.
const checksumSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum covers where a value lies as well as what it says.
func checksum(b Bucket, key, value []byte) uint32 {
	crc := castagnoli[byte(b)^0xff] ^ 0x00ffffff // of the bucket's one byte
	return crc32.Update(crc32.Update(^crc, castagnoli, key), castagnoli, value)
}

// unseal checks a stored value and takes its checksum off.
func (s *Schema) unseal(b Bucket, key, sealed []byte) ([]byte, error) {
	n := len(sealed) - checksumSize
	if n < 0 || binary.BigEndian.Uint32(sealed[n:]) != checksum(b, key, sealed[:n]) {
		return nil, fmt.Errorf("%w: bucket %s", ErrCorrupt, s[b].Name)
	}
	return sealed[:n:n], nil
}

// A row with a damaged key is not found, and neither is one to which a damaged page does not lead. Both show in what stands on either side of
// the place where it should be: a row that fails its checksum, or that belongs on the other side. So no row counts as missing, and no scan as
// complete, before its neighbours are checked.

// checkAfter checks the row that a cursor has found in the place of a key, or beyond it.
func (s *Schema) checkAfter(b Bucket, from, after, sealed []byte) error {
	if after == nil {
		return nil
	}
	if bytes.Compare(after, from) < 0 {
		return s.outOfOrder(b)
	}
	return s.checkNeighbour(b, after, sealed)
}

// checkNeighbour checks a row for the sake of one beside it. Where all keys of a bucket are known, a sound key proves that the damage is in
// the row's value: a read of that row gets the error.
func (s *Schema) checkNeighbour(b Bucket, key, sealed []byte) error {
	_, err := s.unseal(b, key, sealed)
	if known := s[b].IsKey; known != nil && known(key) {
		return nil
	}
	return err
}

func (s *Schema) outOfOrder(b Bucket) error {
	return fmt.Errorf("%w: bucket %s is out of order", ErrCorrupt, s[b].Name)
}
