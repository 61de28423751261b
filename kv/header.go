package kv

import (
	"encoding/binary"
	"fmt"
	"time"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
)

// headerFormat is the first byte of every record row.
const headerFormat = 1

// header is what the store keeps of a record besides its body.
type header struct {
	version   byte // of the kind's table that wrote the body
	deleted   bool
	branched  bool            // the tree has further leaves
	foreign   bool            // the revision is not made of this body: other servers make theirs as they like
	scopes    [2]scopes.Scope // the zero Scope is none
	updatedAt int64           // microseconds since 1970
	updatedBy int64           // api key, 0 = none
	seq       uint64          // of its row in the log
	revision  rev.ID
	parent    [16]byte // hash of the revision before
}

func (h *header) updated() time.Time { return time.UnixMicro(h.updatedAt).UTC() }

// home is the church or event that the record belongs to, 0 for none.
func (h *header) home(k *record.Kind) int64 {
	for _, s := range h.scopes {
		switch s.Sort {
		case scopes.Church, scopes.ChurchFinance:
			return s.ID
		case scopes.Event, scopes.EventNames, scopes.EventHolders:
			if k.Class == record.Events {
				return s.ID
			}
		}
	}
	return 0
}

// appendRow appends a record row: header and body.
func appendRow(dst []byte, h *header, b record.Body) []byte {
	dst = append(dst, headerFormat, h.version, flags(h.deleted, h.branched, h.foreign))
	for _, s := range h.scopes {
		dst = append(dst, byte(s.Sort))
		dst = binary.AppendUvarint(dst, uint64(s.ID))
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.updatedAt))
	dst = binary.AppendUvarint(dst, uint64(h.updatedBy))
	dst = binary.AppendUvarint(dst, h.seq)
	dst = binary.AppendUvarint(dst, h.revision.Generation)
	dst = append(dst, h.revision.Hash[:]...)
	dst = append(dst, h.parent[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(b.Shown)))
	dst = append(dst, b.Shown...)
	return append(dst, b.Hidden...)
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// flags are up to eight of them in a byte, the first in its lowest bit.
func flags(set ...bool) (b byte) {
	for i, on := range set {
		b |= flag(on) << i
	}
	return b
}

// before is the revision that the record's was made of; zero: it is the first, or nobody said.
func (h *header) before() rev.ID {
	if h.revision.Generation <= 1 || h.parent == [16]byte{} {
		return rev.ID{}
	}
	return rev.ID{Generation: h.revision.Generation - 1, Hash: h.parent}
}

// parse reads a record row; the body shares its memory.
func (st *stored) parse(row []byte) error {
	c := cutter{rest: row}
	if f := c.byte(); f != headerFormat {
		return fmt.Errorf("%w: record format %d", ErrCorrupt, f)
	}
	st.version = c.byte()
	set := c.byte()
	st.deleted, st.branched, st.foreign = set&1 != 0, set&2 != 0, set&4 != 0
	for i := range st.scopes {
		st.scopes[i] = scopes.Scope{Sort: scopes.Sort(c.byte()), ID: int64(c.uvarint())}
	}
	st.updatedAt = int64(c.uint64())
	st.updatedBy, st.seq = int64(c.uvarint()), c.uvarint()
	st.revision.Generation = c.uvarint()
	copy(st.revision.Hash[:], c.bytes(16))
	copy(st.parent[:], c.bytes(16))
	st.body.Shown = c.bytes(int(c.uvarint()))
	st.body.Hidden = c.rest
	if c.short {
		return fmt.Errorf("%w: record row is cut short", ErrCorrupt)
	}
	return nil
}

// cutter takes a row apart from the left; short tells that it ended too early.
type cutter struct {
	rest  []byte
	short bool
}

func (c *cutter) bytes(n int) []byte {
	if n < 0 || n > len(c.rest) {
		c.short, c.rest = true, nil
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

func (c *cutter) byte() byte {
	if len(c.rest) == 0 {
		c.short = true
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b
}

func (c *cutter) uvarint() uint64 {
	if len(c.rest) > 0 && c.rest[0] < 0x80 {
		v := c.rest[0]
		c.rest = c.rest[1:]
		return uint64(v)
	}
	if len(c.rest) > 1 && c.rest[1] < 0x80 {
		v := uint64(c.rest[0]&0x7f) | uint64(c.rest[1])<<7
		c.rest = c.rest[2:]
		return v
	}
	v, n := binary.Uvarint(c.rest)
	if n <= 0 {
		c.short, c.rest = true, nil
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

func (c *cutter) uint64() uint64 {
	if b := c.bytes(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}
