package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"time"

	"doorward/kv/crash"
	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
)

// Tx is one operation inside the write transaction: it sees the committed state, what the group has written before it, and
// its own writes. Nothing of it remains if it answers an error.
type Tx struct {
	*View
	Tx      *engine.Tx
	State   state
	Stamp   int64 // the commit's time, microseconds
	Doubted bool  // the wall clock is not believed
	Doors   *doorMemory
	Group   *group // as the operations before this one have left it
	Changed []ListChange
	Rung    []FeedName // the feeds that have grown
	Scratch []byte     // for a row that is put together
}

func (o *Tx) Put(b engine.Bucket, key, value []byte) { o.Tx.Put(b, key, value) }

func (o *Tx) Delete(b engine.Bucket, key []byte) { o.Tx.Delete(b, key) }

// After has fn run when the operation is durable, before its caller has the answer.
func (o *Tx) After(fn func()) { o.Tx.OnCommitted(fn) }

// Edit is one record as it was and as it shall be.
type Edit struct {
	Kind   *record.Kind
	Id     record.ID
	Before *Stored      // nil: new
	Was    *record.Doc  // of before, if it is live
	Is     *record.Doc  // nil: deleted
	Author int64        // api key, 0 = none
	Into   int64        // of one that is deleted: the record that it was the same thing as; 0 = none
	Made   *Made        // of a new one, what is made of it already; nil = nothing
	Ready  ReadyLookups // of is
}

// Write stores a change: record, revision, lookups and log rows. It answers the record as it is stored now.
func (o *Tx) Write(c Edit) (*Stored, error) {
	home, err := HomeOf(o, c.Kind, c.Is)
	if err != nil {
		return nil, err
	}
	next := &Stored{Id: c.Id, Header: Header{Version: c.Kind.Version, UpdatedAt: o.Stamp, UpdatedBy: c.Author}}
	if c.Is == nil {
		next.Deleted = true
		next.Scopes = c.Before.Scopes
	} else {
		copy(next.Scopes[:], c.Kind.Scopes(c.Id, c.Is, home))
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

// fill sets body and revision.
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

// Place puts a record's row, moves its rows in the logs to the end, and notes what the lists must learn.
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
	o.Put(KindBucket(k), k.AppendID(key[:0], next.Id), o.Scratch)
	c := ListChange{Kind: k, Id: next.Id, Is: !next.Deleted, IsHome: next.Home(k), isIn: Issued(k, next.Body), To: next.Mark()}
	if before != nil && !before.Deleted {
		c.Was, c.WasHome, c.WasIn = true, before.Home(k), Issued(k, before.Body)
	}
	if before != nil {
		c.From = before.Mark()
	}
	o.Store.Rules.Placed(o, k, before, next)
	o.Changed = append(o.Changed, c)
}

// MoveLookups deletes the lookup rows that no longer hold and writes the new ones.
func MoveLookups(o *Tx, c Edit, stamp int64) {
	var old, now [][]byte
	if c.Was != nil {
		old = LookupKeys(c.Kind, c.Id, c.Was, c.Before.UpdatedAt)
	}
	if now = c.Ready.under(c.Kind, stamp); now == nil {
		now = LookupKeys(c.Kind, c.Id, c.Is, stamp)
	}
	moveRows(o.Tx, LookupBucket, old, now)
	moveRows(o.Tx, CodeBucket, CodeKeys(c.Kind, c.Id, c.Was), CodeKeys(c.Kind, c.Id, c.Is))
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
		copy(next.Scopes[:], record.Membership.Scopes(id, d, home))
		if err := Welcome(o, record.Membership, before, &next); err != nil {
			return err
		}
		Place(o, record.Membership, before, &next)
	}
	return nil
}

// Issued tells a ticket that counts as issued.
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

func SeqKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// What a log row tells of its record besides. Their numbers are stored.
const (
	rowDeleted  = 1 << iota
	rowBranched // its tree has further leaves
	RowRemoved  // it has left the scope
)

// AppendLog writes a log row: kind, flags, id, generation, hash.
func AppendLog(dst []byte, k *record.Kind, st *Stored, more byte) []byte {
	dst = append(dst, k.Number, flags(st.Deleted, st.Branched)|more)
	dst = k.AppendID(dst, st.Id)
	dst = binary.AppendUvarint(dst, st.Revision.Generation)
	return append(dst, st.Revision.Hash[:]...)
}

// Decode opens a stored record's body.
func (st *Stored) Decode(k *record.Kind) (*record.Doc, error) {
	d, err := k.Decode(st.Body)
	if err != nil {
		return nil, st.Corrupt(k, err)
	}
	return d, nil
}

// Corrupt is the error of a body that cannot be opened.
func (st *Stored) Corrupt(k *record.Kind, err error) error {
	return fmt.Errorf("%w: %s body: %w", engine.ErrCorrupt, k.Name, err)
}

// NoteCorrupt reports a value that failed its checksum, once for each time it was met.
func (s *Set) NoteCorrupt(err error) {
	if err == nil || !errors.Is(err, engine.ErrCorrupt) {
		return
	}
	s.Corrupt.Inc()
	s.Log.Error("a stored value fails its checksum", "cause", err)
}

// UnlessCorrupt is noteCorrupt for who goes on without what is damaged.
func (s *Set) UnlessCorrupt(err error) error {
	if errors.Is(err, engine.ErrCorrupt) {
		s.NoteCorrupt(err)
		return nil
	}
	return err
}

// commits is what the store keeps from one commit to the next. Only the engine's writer uses it.
type commits struct {
	state    state
	group    group
	op       Tx   // the one that runs; reused
	sight    View // its
	doors    doorMemory
	Edits    uint64
	LastEdit int // version of the latest commit that held more than facts
}

// group is what the operations of one commit share, as those before have left it.
type group struct {
	now     time.Time
	stamp   int64
	doubted bool
	state   state
	Lists   []ListChange
	rung    []FeedName // the feeds that have grown
	Edited  bool       // it holds more than facts
}

// hooks tie the store to the engine's commits.
func (s *Set) hooks() engine.Hooks {
	return engine.Hooks{Begin: s.begin, Seal: s.seal, Committed: s.committed}
}

// begin begins a group.
func (s *Set) begin() {
	g := group{now: s.ClockNow(), state: s.Commits.state}
	g.doubted = s.JudgeClock(g.now) != ""
	jumped := false
	if g.stamp, jumped = g.state.commitTime(g.now, g.doubted); jumped {
		s.Log.Warn("commit times go back: the last commit lay ahead of the clock", slog.Duration("ahead", time.Duration(s.Commits.state.stamp-g.stamp)*time.Microsecond))
	}
	s.Commits.group = g
}

// seal writes what every commit holds. The lists that show the commit are published under its version before it is durable: a reader finds
// them the moment it can see the commit, and never before.
func (s *Set) seal(tx *engine.Tx, version int) {
	c := &s.Commits
	g := &c.group
	g.state.stamp = g.stamp
	s.Reads.ended(minuteOf(g.now)).write(tx, !g.doubted)
	tx.Put(MetaBucket, StateKey, g.state.Encode())
	if g.Edited {
		c.LastEdit = version
	}
	c.Edits++
	s.publish(s.Current().with(version, c.Edits, g.Lists))
}

// committed publishes a durable group and wakes the callers that wait for its changes.
func (s *Set) committed() {
	g := &s.Commits.group
	s.Commits.state = g.state
	s.seq.Store(g.state.Seq)
	s.Bell.Ring()
	s.Bells.ring(g.rung)
	s.Bells.ringScopes(g.Lists)
	if s.followed != nil {
		s.followed(g.Lists)
	}
}

// run runs one operation of the group.
func (s *Set) run(tx *engine.Tx, fn func(*Tx) error) error {
	c := &s.Commits
	g := &c.group
	doors := &c.doors
	if tx.Full() != nil {
		doors = &doorMemory{} // nothing is remembered of what is not written
	}
	c.sight = View{View: &tx.View, Store: s, Now: g.now, Lists: s.Current()}
	o := &c.op // the one before has ended
	*o = Tx{
		View: &c.sight, Tx: tx, State: g.state, Stamp: g.stamp, Doubted: g.doubted, Doors: doors, Group: g,
		Changed: o.Changed[:0], Rung: o.Rung[:0], Scratch: o.Scratch,
	}
	if err := fn(o); err != nil {
		s.NoteCorrupt(err)
		return err
	}
	tx.OnKept(s.keep)
	return nil
}

// keep makes what the operation has done part of its group.
func (s *Set) keep() {
	o, g := &s.Commits.op, &s.Commits.group
	g.state = o.State
	g.Lists = append(g.Lists, o.Changed...)
	g.ring(o.Rung)
	g.Edited = g.Edited || slices.ContainsFunc(o.Changed, func(c ListChange) bool { return c.Kind == nil || !c.Kind.Fact })
}

// Step is one operation of several, and its error.
type Step struct {
	Run func(*Tx) error
	Err error
}

// Do hands one operation to the writer and waits for its commit.
func (s *Set) Do(door bool, run func(*Tx) error) error {
	return opError(s.Engine.Do(door, func(tx *engine.Tx) error { return s.run(tx, run) }))
}

// DoAll hands a bulk of operations to the writer; each step keeps its own error.
func (s *Set) DoAll(steps []Step) error {
	ops := make([]engine.Op, len(steps))
	for i := range ops {
		ops[i].Run = func(tx *engine.Tx) error { return s.run(tx, steps[i].Run) }
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

// doorsAbout is for how long after an operation of a door a long computation makes way.
const doorsAbout = time.Second

// Yield is for loops that compute for long: while doors are about it lets their goroutines onto the processor, which would else
// wait for the end of a time slice of 10 ms.
func (s *Set) Yield() {
	if s.Engine.DoorWithin(doorsAbout) {
		runtime.Gosched()
	}
}
