package table

import (
	"encoding/binary"
	"fmt"
	"time"

	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
)

// headerFormat is the first byte of every record row.
const headerFormat = 1

// Header is what the store keeps of a record besides its body.
type Header struct {
	Version   byte // of the kind's table that wrote the body
	Deleted   bool
	Branched  bool            // the tree has further leaves
	Foreign   bool            // the revision is not made of this body: other servers make theirs as they like
	Scopes    [2]scopes.Scope // the zero Scope is none
	UpdatedAt int64           // microseconds since 1970
	UpdatedBy int64           // api key, 0 = none
	Seq       uint64          // of its row in the log
	Revision  rev.ID
	Parent    [16]byte // hash of the revision before
}

func (h *Header) Updated() time.Time { return time.UnixMicro(h.UpdatedAt).UTC() }

// Home is the church or event that the record belongs to, 0 for none.
func (h *Header) Home(k *record.Kind) int64 {
	for _, s := range h.Scopes {
		switch s.Sort {
		case scopes.Church, scopes.ChurchFinance:
			return s.ID
		case scopes.Event, scopes.EventNames, scopes.EventHolders, scopes.EventLabels:
			if k.Class == record.Events {
				return s.ID
			}
		}
	}
	return 0
}

// appendRow appends a record row: header and body.
func appendRow(dst []byte, h *Header, b record.Body) []byte {
	dst = append(dst, headerFormat, h.Version, flags(h.Deleted, h.Branched, h.Foreign))
	for _, s := range h.Scopes {
		dst = append(dst, byte(s.Sort))
		dst = binary.AppendUvarint(dst, uint64(s.ID))
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.UpdatedAt))
	dst = binary.AppendUvarint(dst, uint64(h.UpdatedBy))
	dst = binary.AppendUvarint(dst, h.Seq)
	dst = binary.AppendUvarint(dst, h.Revision.Generation)
	dst = append(dst, h.Revision.Hash[:]...)
	dst = append(dst, h.Parent[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(b.Shown)))
	dst = append(dst, b.Shown...)
	return append(dst, b.Hidden...)
}

func Flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// flags are up to eight of them in a byte, the first in its lowest bit.
func flags(set ...bool) (b byte) {
	for i, on := range set {
		b |= Flag(on) << i
	}
	return b
}

// Before is the revision that the record's was made of; zero: it is the first, or nobody said.
func (h *Header) Before() rev.ID {
	if h.Revision.Generation <= 1 || h.Parent == [16]byte{} {
		return rev.ID{}
	}
	return rev.ID{Generation: h.Revision.Generation - 1, Hash: h.Parent}
}

// Parse reads a record row; the body shares its memory.
func (st *Stored) Parse(row []byte) error {
	c := Cutter{Rest: row}
	if f := c.Byte(); f != headerFormat {
		return fmt.Errorf("%w: record format %d", engine.ErrCorrupt, f)
	}
	st.Version = c.Byte()
	set := c.Byte()
	st.Deleted, st.Branched, st.Foreign = set&1 != 0, set&2 != 0, set&4 != 0
	for i := range st.Scopes {
		st.Scopes[i] = scopes.Scope{Sort: scopes.Sort(c.Byte()), ID: int64(c.Uvarint())}
	}
	st.UpdatedAt = int64(c.Uint64())
	st.UpdatedBy, st.Seq = int64(c.Uvarint()), c.Uvarint()
	st.Revision.Generation = c.Uvarint()
	copy(st.Revision.Hash[:], c.Bytes(16))
	copy(st.Parent[:], c.Bytes(16))
	st.Body.Shown = c.Bytes(int(c.Uvarint()))
	st.Body.Hidden = c.Rest
	if c.Short {
		return fmt.Errorf("%w: record row is cut short", engine.ErrCorrupt)
	}
	return nil
}

// Cutter takes a row apart from the left; short tells that it ended too early.
type Cutter struct {
	Rest  []byte
	Short bool
}

func (c *Cutter) Bytes(n int) []byte {
	if n < 0 || n > len(c.Rest) {
		c.Short, c.Rest = true, nil
		return nil
	}
	b := c.Rest[:n:n]
	c.Rest = c.Rest[n:]
	return b
}

func (c *Cutter) Byte() byte {
	if len(c.Rest) == 0 {
		c.Short = true
		return 0
	}
	b := c.Rest[0]
	c.Rest = c.Rest[1:]
	return b
}

func (c *Cutter) Uvarint() uint64 {
	if len(c.Rest) > 0 && c.Rest[0] < 0x80 {
		v := c.Rest[0]
		c.Rest = c.Rest[1:]
		return uint64(v)
	}
	if len(c.Rest) > 1 && c.Rest[1] < 0x80 {
		v := uint64(c.Rest[0]&0x7f) | uint64(c.Rest[1])<<7
		c.Rest = c.Rest[2:]
		return v
	}
	v, n := binary.Uvarint(c.Rest)
	if n <= 0 {
		c.Short, c.Rest = true, nil
		return 0
	}
	c.Rest = c.Rest[n:]
	return v
}

func (c *Cutter) Uint64() uint64 {
	if b := c.Bytes(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}
