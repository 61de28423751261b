package table

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/value"

	"github.com/go-json-experiment/json/jsontext"
)

// headerFormat is the first byte of every record row.
const headerFormat = 2

// Header is a record's row without its body.
type Header struct {
	Version   byte // of the kind's table that wrote the body
	Deleted   bool
	Branched  bool            // the tree has further leaves
	Foreign   bool            // another server has made the revision id, not out of this body
	Scopes    [2]scopes.Scope // a zero Scope counts for nothing
	UpdatedAt int64           // microseconds since 1970
	UpdatedBy int64           // api key, 0 = none
	Seq       uint64          // of its row in the log
	Revision  rev.ID
	Parent    [16]byte // hash of the revision before
}

// Updated is the time of the latest change.
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
	if h.Revision.Generation > 1 {
		dst = append(dst, h.Parent[:]...)
	}
	dst = binary.AppendUvarint(dst, uint64(len(b.Shown)))
	dst = append(dst, b.Shown...)
	return append(dst, b.Hidden...)
}

// Flag is 1 for true.
func Flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// flags puts up to eight flags into a byte, the first into its lowest bit.
func flags(set ...bool) (b byte) {
	for i, on := range set {
		b |= Flag(on) << i
	}
	return b
}

// Before is the parent of the record's revision. It is zero for a first revision, and for one that came without its parent.
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
	if st.Parent = [16]byte{}; st.Revision.Generation > 1 {
		copy(st.Parent[:], c.Bytes(16))
	}
	st.Body.Shown = c.Bytes(int(c.Uvarint()))
	st.Body.Hidden = c.Rest
	if c.Short {
		return fmt.Errorf("%w: record row is cut short", engine.ErrCorrupt)
	}
	return nil
}

// Cutter reads a row from left to right. Short tells that the row ended too early.
type Cutter struct {
	Rest  []byte
	Short bool
}

// Bytes reads n bytes.
func (c *Cutter) Bytes(n int) []byte {
	if n < 0 || n > len(c.Rest) {
		c.Short, c.Rest = true, nil
		return nil
	}
	b := c.Rest[:n:n]
	c.Rest = c.Rest[n:]
	return b
}

// Byte reads one byte.
func (c *Cutter) Byte() byte {
	if len(c.Rest) == 0 {
		c.Short = true
		return 0
	}
	b := c.Rest[0]
	c.Rest = c.Rest[1:]
	return b
}

// Uvarint reads an unsigned varint.
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

// Uint64 reads 8 bytes, big-endian.
func (c *Cutter) Uint64() uint64 {
	if b := c.Bytes(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// BodyKey is the key of a revision's kept body.
func BodyKey(k *record.Kind, id record.ID, rev rev.ID) []byte {
	return AppendRevision(TreeKey(k, id), rev)
}

// KeepBody writes the body of a record's present revision to a row of its own.
func KeepBody(o *Tx, k *record.Kind, st *Stored) {
	if st.Deleted {
		return
	}
	row := []byte{Flag(st.Foreign), st.Version}
	row = binary.AppendUvarint(row, uint64(len(st.Body.Shown)))
	row = append(append(row, st.Body.Shown...), st.Body.Hidden...)
	o.Put(BodyBucket, BodyKey(k, st.ID, st.Revision), row)
}

// KeptBody reads a kept body; nil where there is none. Its header has the revision, Foreign and Version alone.
func KeptBody(v *View, k *record.Kind, id record.ID, rev rev.ID) (*Stored, error) {
	row, err := v.Get(BodyBucket, BodyKey(k, id, rev))
	if err != nil || row == nil {
		return nil, err
	}
	st := &Stored{ID: id}
	st.Revision = rev
	if err = st.ParseBody(k, row); err == nil && !v.Writing() {
		err = Unshown(v, k, st)
	}
	return st, err
}

// ParseBody reads a row of a kept body.
func (st *Stored) ParseBody(k *record.Kind, row []byte) error {
	c := Cutter{Rest: row}
	st.Foreign, st.Version = c.Byte() == 1, c.Byte()
	st.Body.Shown = c.Bytes(int(c.Uvarint()))
	st.Body.Hidden = c.Rest
	if c.Short {
		return fmt.Errorf("%w: kept body of %s is cut short", engine.ErrCorrupt, k.Name)
	}
	return nil
}

// DropBodies deletes the kept bodies of some of a record's revisions.
func DropBodies(o *Tx, k *record.Kind, id record.ID, revs []rev.ID) {
	for _, rev := range revs {
		o.Delete(BodyBucket, BodyKey(k, id, rev))
	}
}

// Forget deletes a record's tree and the bodies of its other revisions. The record's row stays.
func Forget(o *Tx, k *record.Kind, id record.ID) error {
	keys, err := FirstKeys(o.View.View, BodyBucket, TreeKey(k, id), MaxKept)
	for _, key := range keys {
		o.Delete(BodyBucket, key)
	}
	o.Delete(TreeBucket, TreeKey(k, id))
	return err
}

// ForgetAll is Forget, and deletes the rows which say that the record has left a scope.
func ForgetAll(o *Tx, k *record.Kind, id record.ID) error {
	if err := forgetLeft(o, k, id); err != nil {
		return err
	}
	return Forget(o, k, id)
}

// MaxKept is more than the bodies that a record can have.
const MaxKept = 1 << 20

// CutRecord takes a kind's record off the front of a key.
func CutRecord(key []byte) (k *record.Kind, id record.ID, rest []byte, err error) {
	if len(key) == 0 {
		return nil, id, nil, engine.ErrCorrupt
	}
	k, ok := record.ByNumber(key[0])
	if !ok || len(key) < 1+k.IDSize() {
		return nil, id, nil, engine.ErrCorrupt
	}
	id, _ = k.KeyID(key[1 : 1+k.IDSize()]) // its length is right
	return k, id, bytes.Clone(key[1+k.IDSize():]), nil
}

// AppendRevision appends a revision to a key: generation 8, hash.
func AppendRevision(dst []byte, rev rev.ID) []byte {
	return rev.AppendHash(binary.BigEndian.AppendUint64(dst, rev.Generation))
}

// Kept copies the record to memory of its own.
func (st *Stored) Kept() *Stored {
	own := *st
	own.Body = record.Body{Shown: bytes.Clone(st.Body.Shown), Hidden: bytes.Clone(st.Body.Hidden)}
	return &own
}

// AppendMember appends a member to a JSON object that is not closed.
func AppendMember(dst []byte, name string, v jsontext.Value) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	return append(append(append(dst, value.Quote(name)...), ':'), v...)
}

// IntOf is a stored integer; 0 for null.
func IntOf(v jsontext.Value) int64 {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return 0 // null, or not there
	}
	return n
}
