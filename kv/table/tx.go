package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"doorward/kv/crash"
	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
)

// Tx is one operation inside the write transaction. It sees the committed state, the writes of the operations before it in its group,
// and its own writes. An operation that returns an error leaves no trace.
type Tx struct {
	*View
	Tx      *engine.Tx
	State   state
	Stamp   int64 // the commit's time, microseconds
	Doubted bool  // the clock is not believed
	Doors   *doorMemory
	Changed []ListChange
	Rung    []FeedName // the feeds that have grown
	Scratch []byte     // memory for building a row
}

// Put writes a row.
func (o *Tx) Put(b engine.Bucket, key, value []byte) { o.Tx.Put(b, key, value) }

// Delete deletes a row.
func (o *Tx) Delete(b engine.Bucket, key []byte) { o.Tx.Delete(b, key) }

// After runs fn when the operation is durable, before its caller gets the answer.
func (o *Tx) After(fn func()) { o.Tx.OnCommitted(fn) }

// Edit is one record before and after a change.
type Edit struct {
	Kind   *record.Kind
	ID     record.ID
	Before *Stored      // nil: new
	Was    *record.Doc  // of before, if it is live
	Is     *record.Doc  // nil: deleted
	Author int64        // api key, 0 = none
	Into   int64        // of a deleted one: the record that it is merged into; 0 = none
	Made   *Made        // of a new one: its body and revision; nil = Write makes them
	Ready  ReadyLookups // of is
}

// Write stores a change: record, revision, lookups and log rows. It returns the record as it is stored.
func (o *Tx) Write(c Edit) (*Stored, error) {
	home, err := HomeOf(o, c.Kind, c.Is)
	if err != nil {
		return nil, err
	}
	next := &Stored{ID: c.ID, Header: Header{Version: c.Kind.Version, UpdatedAt: o.Stamp, UpdatedBy: c.Author}}
	if c.Is == nil {
		next.Deleted = true
		next.Scopes = c.Before.Scopes
	} else {
		copy(next.Scopes[:], c.Kind.Scopes(c.ID, home))
		if c.Kind == record.HolderName && c.Before != nil {
			next.Scopes[0].Sort = c.Before.Scopes[0].Sort // package ticket moves it (PlaceHoldings)
		}
	}
	if err := o.Store.Rules.Leaves(o, c.Kind, c.Before, next.Scopes); err != nil {
		return nil, err
	}
	next.fill(c)
	if err := branch(o, c, next); err != nil {
		return nil, err
	}
	if err := Welcome(o, c.Kind, c.Before, next); err != nil {
		return nil, err
	}
	MoveLookups(o, c, next.UpdatedAt)
	Place(o, c.Kind, c.Before, next)
	return next, nil
}

// fill sets the body and the revision.
func (st *Stored) fill(c Edit) {
	if c.Made != nil && c.Before == nil {
		st.Body, st.Revision = c.Made.Body, c.Made.Revision
		return
	}
	canonical := []byte(record.Tombstone(c.Kind, c.Into))
	if c.Is != nil {
		st.Body, canonical = c.Is.Encode(), c.Is.Canonical()
	}
	var parent rev.ID
	if c.Before != nil {
		parent = c.Before.Revision
	}
	st.Revision, st.Parent = rev.Next(parent, st.Deleted, canonical), parent.Hash
}

// Place writes a record's row, moves its rows in the logs to their ends, and notes the change for the lists.
func Place(o *Tx, k *record.Kind, before, next *Stored) {
	o.State.Seq++
	next.Seq = o.State.Seq
	if before != nil {
		o.Delete(LogBucket, SeqKey(before.Seq))
	}
	crash.At(crash.BeforeLogRow)
	var key [16]byte
	o.Scratch = AppendLog(o.Scratch[:0], k, next, 0)
	o.Put(LogBucket, binary.BigEndian.AppendUint64(key[:0], next.Seq), o.Scratch)
	moveScopes(o, k, before, next, o.Scratch)
	crash.At(crash.BeforeRecord)
	o.Scratch = appendRow(o.Scratch[:0], &next.Header, next.Body)
	o.Put(KindBucket(k), k.AppendID(key[:0], next.ID), o.Scratch)
	c := ListChange{Kind: k, ID: next.ID, Is: !next.Deleted, IsHome: next.Home(k), isIn: Issued(k, next.Body), To: next.Mark()}
	if before != nil && !before.Deleted {
		c.Was, c.WasHome, c.WasIn = true, before.Home(k), Issued(k, before.Body)
	}
	if before != nil {
		c.From = before.Mark()
	}
	o.Store.Rules.Placed(o, k, before, next)
	o.Changed = append(o.Changed, c)
}

// MoveLookups deletes the lookup rows of the old values and writes those of the new ones.
func MoveLookups(o *Tx, c Edit, stamp int64) {
	var old, now [][]byte
	if c.Was != nil {
		old = LookupKeys(c.Kind, c.ID, c.Was, c.Before.UpdatedAt)
	}
	if now = c.Ready.under(c.Kind, stamp); now == nil {
		now = LookupKeys(c.Kind, c.ID, c.Is, stamp)
	}
	moveRows(o.Tx, LookupBucket, old, now)
	moveRows(o.Tx, CodeBucket, CodeKeys(c.Kind, c.ID, c.Was), CodeKeys(c.Kind, c.ID, c.Is))
}

// moveRows replaces one set of valueless rows by another.
func moveRows(w *engine.Tx, b engine.Bucket, old, now [][]byte) {
	for _, key := range old {
		if !holds(now, key) {
			w.Delete(b, key)
		}
	}
	for _, key := range now {
		if !holds(old, key) {
			w.Put(b, key, nil)
		}
	}
}

func holds(keys [][]byte, key []byte) bool {
	for _, k := range keys {
		if bytes.Equal(k, key) {
			return true
		}
	}
	return false
}

// HomeOf is the church or event that a record belongs to (record.Kind.Home), 0 for none.
func HomeOf(o *Tx, k *record.Kind, d *record.Doc) (int64, error) {
	if d == nil || k.Home == "" {
		return 0, nil
	}
	n := d.Int(k.Home)
	if k != record.Membership || n == 0 {
		return n, nil
	}
	person, err := o.Load(record.Person, record.Int(n))
	if err != nil || person == nil {
		return 0, err
	}
	return person.Home(record.Person), nil
}

// Rehome rewrites the memberships of a person that has moved to another church: same revision, other scope.
func Rehome(o *Tx, person record.ID) error {
	ids, err := o.Lookup(record.Membership, "person", person.Int())
	if err != nil {
		return err
	}
	for _, id := range ids {
		before, err := o.Load(record.Membership, id)
		if err != nil || before == nil {
			return err
		}
		d, err := record.Membership.Decode(before.Body)
		if err != nil {
			return err
		}
		home, err := HomeOf(o, record.Membership, d)
		if err != nil {
			return err
		}
		next := *before
		next.Scopes = [2]scopes.Scope{}
		copy(next.Scopes[:], record.Membership.Scopes(id, home))
		if err := Welcome(o, record.Membership, before, &next); err != nil {
			return err
		}
		Place(o, record.Membership, before, &next)
	}
	return nil
}

// Issued tells whether a record is a ticket that counts as issued.
func Issued(k *record.Kind, b record.Body) bool {
	if k != record.Ticket {
		return false
	}
	switch string(b.Member("state")) {
	case `"valid"`, `"unpaid"`:
		return true
	}
	return false
}

// SeqKey is a sequence as a key: 8 bytes.
func SeqKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// The flags of a row of a log. Their numbers are stored.
const (
	rowDeleted  = 1 << iota
	rowBranched // its tree has further leaves
	RowRemoved  // it has left the scope
)

// AppendLog appends a row of a log: kind, flags, id, generation, hash. more are further flags.
func AppendLog(dst []byte, k *record.Kind, st *Stored, more byte) []byte {
	dst = append(dst, k.Number, flags(st.Deleted, st.Branched)|more)
	dst = k.AppendID(dst, st.ID)
	dst = binary.AppendUvarint(dst, st.Revision.Generation)
	return append(dst, st.Revision.Hash[:]...)
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

// Step is one operation of a bulk, and its error.
type Step struct {
	Run func(*Tx) error
	Err error
}

// Do hands one operation to the writer and waits for its commit.
func (s *Set) Do(run func(*Tx) error) error {
	return opError(s.Engine.Do(false, func(tx *engine.Tx) error { return s.Commits.run(tx, run) }))
}

// DoAtDoor is Do for an operation of a door, which goes before all others.
func (s *Set) DoAtDoor(run func(*Tx) error) error {
	return opError(s.Engine.Do(true, func(tx *engine.Tx) error { return s.Commits.run(tx, run) }))
}

// DoAll hands a bulk of operations to the writer; each step keeps its own error.
func (s *Set) DoAll(steps []Step) error {
	ops := make([]engine.Op, len(steps))
	for i := range ops {
		ops[i].Run = func(tx *engine.Tx) error { return s.Commits.run(tx, steps[i].Run) }
	}
	err := s.Engine.DoAll(ops)
	for i := range ops {
		steps[i].Err = opError(ops[i].Err)
	}
	return err
}

// opError is the error of an operation for its caller.
func opError(err error) error {
	if errors.Is(err, engine.ErrTooLong) {
		return Refused("a value is too long to be found by")
	}
	return err
}

// DoEach hands steps to the writer in operations of bounded size, up to the first that fails.
func (s *Set) DoEach(steps []Step) error {
	for part := range slices.Chunk(steps, MaxRows) {
		if err := s.DoAll(part); err != nil {
			return err
		}
		for i := range part {
			if part[i].Err != nil {
				return part[i].Err
			}
		}
	}
	return nil
}

// MaxRows is how many rows one bulk operation takes.
const MaxRows = 100

// doorsAbout is how long after an operation of a door a long computation yields.
const doorsAbout = time.Second

// Yield is for loops that compute for long. If a door has written within the last second, it lets other goroutines run, which would
// otherwise wait for the end of a time slice of 10 ms.
func (s *Set) Yield() {
	if s.Engine.DoorWithin(doorsAbout) {
		runtime.Gosched()
	}
}
