package table

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
)

// Stored is a record as it lies in the store.
type Stored struct {
	Header
	ID   record.ID
	Body record.Body
}

// headerFormat is the first byte of every record row.
const headerFormat = 2

// read reads a row.
func (st *Stored) read(k *record.Kind, row []byte) error {
	if err := st.Parse(row); err != nil {
		return fmt.Errorf("%s: %w", k.Name, err)
	}
	if st.Version != k.Version && !st.Deleted {
		d, err := st.Decode(k)
		if err != nil {
			return err
		}
		st.Body = d.Encode()
	}
	return nil
}

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

// Decode reads a stored record's body.
func (st *Stored) Decode(k *record.Kind) (*record.Doc, error) {
	d, err := k.Decode(st.Body)
	if err != nil {
		return nil, st.Corrupt(k, err)
	}
	return d, nil
}

// Corrupt is the error of a body that cannot be read.
func (st *Stored) Corrupt(k *record.Kind, err error) error {
	return fmt.Errorf("%w: %s body: %w", engine.ErrCorrupt, k.Name, err)
}

// Cutter reads a row from left to right.
type Cutter = rev.Cutter

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
	left, err := LeftScopes(o.View, k, id)
	for i := 0; err == nil && i < len(left); i++ {
		err = forgetRemoved(o, k, id, left[i])
	}
	if err != nil {
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

// TreeKey names a record's tree.
func TreeKey(k *record.Kind, id record.ID) []byte { return k.AppendID([]byte{k.Number}, id) }

// LoadTree reads a record's tree. A record with one revision that was made here has no row; its tree is made from its header.
func LoadTree(v *View, k *record.Kind, st *Stored) (rev.Tree, error) {
	row, err := v.Get(TreeBucket, TreeKey(k, st.ID))
	if err != nil {
		return rev.Tree{}, err
	}
	if row == nil {
		return st.derived(), nil
	}
	t, err := rev.ParseTree(row)
	if err != nil {
		return t, fmt.Errorf("%w: %s: %w", engine.ErrCorrupt, k.Name, err)
	}
	return t, nil
}

// derived is the tree of a record without a row for it.
func (h *Header) derived() (t rev.Tree) {
	path := []rev.ID{h.Revision}
	if h.Revision.Generation > 1 {
		path = append(path, h.Before())
	}
	_, _ = t.Graft(path, rev.Node{Deleted: h.Deleted, Held: true, At: h.UpdatedAt, Key: h.UpdatedBy}) // it is a path
	return t
}

// branch adds a change made here to its record's tree and keeps the body that it replaces. A deletion ends all branches that
// replicas have made of the record.
func branch(o *Tx, c Edit, next *Stored) error {
	if c.Before == nil {
		return nil
	}
	t, err := LoadTree(o.View, c.Kind, c.Before)
	if err != nil {
		return err
	}
	node := rev.Node{Deleted: next.Deleted, Held: true, At: o.Stamp, Key: c.Author, Into: c.Into}
	if c.Is != nil && c.Was != nil {
		node.Fields = c.Is.Differs(c.Was)
	}
	if _, err := t.Graft(append([]rev.ID{next.Revision}, t.Path(c.Before.Revision)...), node); err != nil {
		return err
	}
	if next.Deleted {
		node.Into = 0
		if err := o.Store.Rules.Ended(o, c, &t); err != nil {
			return err
		}
		if err := EndAll(&t, node); err != nil {
			return err
		}
		NoteMerged(o, c.Kind, c.ID, &t)
	}
	KeepBody(o, c.Kind, c.Before)
	DropBodies(o, c.Kind, c.ID, Shape(next, &t))
	o.Put(TreeBucket, TreeKey(c.Kind, c.ID), t.Append(nil))
	return nil
}

// KeptDoc is a kept body; nil where there is none.
func KeptDoc(v *View, k *record.Kind, id record.ID, rev rev.ID) (*record.Doc, error) {
	kept, err := KeptBody(v, k, id, rev)
	if err != nil || kept == nil {
		return nil, err
	}
	return kept.Decode(k)
}

// DocOf is a record as one of its revisions; nil where the body of that is not held.
func DocOf(v *View, k *record.Kind, st *Stored, rev rev.ID) (*record.Doc, error) {
	if rev != st.Revision {
		return KeptDoc(v, k, st.ID, rev)
	}
	if st.Deleted {
		return nil, nil
	}
	return st.Decode(k)
}

// EndAll deletes every live leaf.
func EndAll(t *rev.Tree, node rev.Node) error {
	for _, leaf := range t.Conflicts() {
		if err := endLeaf(t, leaf.Revision, node); err != nil {
			return err
		}
	}
	if w := t.Winner(); !w.Deleted {
		return endLeaf(t, w.Revision, node)
	}
	return nil
}

func endLeaf(t *rev.Tree, leaf rev.ID, node rev.Node) error {
	_, err := t.Graft(append([]rev.ID{rev.Next(leaf, true, nil)}, t.Path(leaf)...), node)
	return err
}

// Shape prunes a tree and sets the header from it. It returns the revisions that lose their bodies.
func Shape(next *Stored, t *rev.Tree) (dropped []rev.ID) {
	dropped, leaves := Trim(t)
	winner := leaves[0]
	next.Revision, next.Parent, next.Deleted, next.Branched = winner.Revision, winner.Parent.Hash, winner.Deleted, len(leaves) > 1
	return dropped
}

// MergedInto is the first byte of the rows from a record to those merged into it.
const MergedInto = 'i'

// MergedIn is the record that a deleted one was merged into, by its tree; 0 = none.
func MergedIn(t *rev.Tree) (into int64) {
	for _, leaf := range t.Leaves() {
		if leaf.Into != 0 && (into == 0 || leaf.Into < into) {
			into = leaf.Into
		}
	}
	return into
}

// Survivor is the record that an id now stands for: its own, or the one that it was merged into. It is nil for a deleted record, and
// for records that tombstones of a file from elsewhere lead to each other.
func Survivor(v *View, k *record.Kind, id record.ID) (*Stored, error) {
	var seen []record.ID
	for {
		st, err := v.LoadAny(k, id)
		if err != nil || st == nil || !st.Deleted {
			return st, err
		}
		t, err := LoadTree(v, k, st)
		into := MergedIn(&t)
		if err != nil || into == 0 || slices.Contains(seen, record.Int(into)) {
			return nil, err
		}
		seen = append(seen, id)
		id = record.Int(into)
	}
}

func intoKey(k *record.Kind, into, id int64) []byte {
	key := binary.BigEndian.AppendUint64([]byte{MergedInto, k.Number}, uint64(into))
	return binary.BigEndian.AppendUint64(key, uint64(id))
}

// Merged are the records that were merged into one, in order.
func Merged(v *View, k *record.Kind, into record.ID) ([]record.ID, error) {
	return IDsUnder(v, MergedBucket, intoKey(k, into.Int(), 0)[:10], k)
}

// NoteMerged writes the row of a merged record, by its tombstone.
func NoteMerged(o *Tx, k *record.Kind, id record.ID, t *rev.Tree) {
	if into := MergedIn(t); into != 0 {
		o.Put(MergedBucket, intoKey(k, into, id.Int()), nil)
	}
}

// ForgetMerged deletes the rows that NoteMerged has ever written of a record. A lower id leaves the row of the higher one behind.
func ForgetMerged(o *Tx, k *record.Kind, st *Stored) error {
	if k.ULID {
		return nil // no record of such a kind is merged
	}
	t, err := LoadTree(o.View, k, st)
	if err != nil {
		return err
	}
	for _, n := range t.Nodes() {
		if n.Into != 0 {
			o.Delete(MergedBucket, intoKey(k, n.Into, st.ID.Int()))
		}
	}
	return nil
}

// IsOnlyOf tells whether one node has made all known revisions of a tree.
func IsOnlyOf(t *rev.Tree, own ulid.ULID) bool {
	return !slices.ContainsFunc(t.Nodes(), func(n rev.Node) bool { return n.Node != own && IsTold(n) })
}

// IsBegunBy tells whether a node has made the first known revision of a tree.
func IsBegunBy(t *rev.Tree, own ulid.ULID) bool {
	i := slices.IndexFunc(t.Nodes(), IsTold)
	return i >= 0 && t.Nodes()[i].Node == own
}

// IsTold tells whether more than its id is known of a revision. Of earlier revisions that came with a later one, the id alone is.
func IsTold(n rev.Node) bool { return n.Held || n.Deleted || n.At != 0 }

// FirstKindBucket is 32. A kind's bucket has this number plus the kind's own.
const FirstKindBucket = engine.Bucket(32)

// KindBucket holds a kind's records.
func KindBucket(k *record.Kind) engine.Bucket { return FirstKindBucket + engine.Bucket(k.Number) }

// Revisions of all documents and records are kept by one rule: those near a leaf, and of these the bodies of the leaves and of the
// last ones.

// RevsLimit is how many revisions a tree keeps on the path from each leaf.
const RevsLimit = 50

// keptBodies is how many of a tree's last revisions keep their bodies. All leaves keep theirs too.
const keptBodies = 10

// Trim removes the revisions that are too far from every leaf, and notes which bodies need not be held. It returns the revisions of
// both, and the leaves.
func Trim(t *rev.Tree) (dropped []rev.ID, leaves []rev.Node) {
	dropped, leaves = t.Stem(RevsLimit), t.Leaves()
	return append(dropped, release(t, leaves, keptBodies)...), leaves
}

// TrimToLeaves notes that only leaves hold their bodies. It returns the other revisions that held theirs.
func TrimToLeaves(t *rev.Tree) []rev.ID { return release(t, t.Leaves(), 0) }

// release notes that the revisions before the last ones hold no bodies, except leaves. It returns those that held theirs.
func release(t *rev.Tree, leaves []rev.Node, last int) (dropped []rev.ID) {
	nodes := t.Nodes()
	for _, n := range nodes[:max(0, len(nodes)-last)] {
		isLeaf := func(l rev.Node) bool { return l.Revision == n.Revision }
		if n.Held && !slices.ContainsFunc(leaves, isLeaf) {
			t.Hold(n.Revision, false)
			dropped = append(dropped, n.Revision)
		}
	}
	return dropped
}
