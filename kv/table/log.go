package table

import (
	"encoding/binary"

	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/rev"
)

// Change is one row of the change log: the latest change of one record.
type Change struct {
	Seq      uint64
	Kind     *record.Kind
	ID       record.ID
	Revision rev.ID
	Deleted  bool
	Branched bool // its tree has further leaves
}

// Seq is the sequence of the latest change.
func (s *Set) Seq() uint64 { return s.seq.Load() }

func ParseLog(key, row []byte) (Change, error) {
	if len(key) != 8 {
		return Change{}, engine.ErrCorrupt
	}
	c, _, err := ParseLogRow(binary.BigEndian.Uint64(key), row)
	return c, err
}

// ParseLogRow reads a row of any log.
func ParseLogRow(seq uint64, row []byte) (ch Change, removed bool, err error) {
	c := Cutter{Rest: row}
	k, ok := record.ByNumber(c.Byte())
	if !ok {
		return Change{}, false, engine.ErrCorrupt
	}
	set := c.Byte()
	ch = Change{Seq: seq, Kind: k, Deleted: set&rowDeleted != 0, Branched: set&rowBranched != 0}
	ch.ID, ok = k.KeyID(c.Bytes(k.IDSize()))
	ch.Revision.Generation = c.Uvarint()
	copy(ch.Revision.Hash[:], c.Bytes(16))
	if c.Short || !ok {
		return Change{}, false, engine.ErrCorrupt
	}
	return ch, set&RowRemoved != 0, nil
}

// ExportPage is how many records Export copies out of one View.
const ExportPage = 200
