package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

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
