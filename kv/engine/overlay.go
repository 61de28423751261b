package engine

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"

	"go.etcd.io/bbolt"
)

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
