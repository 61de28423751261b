package table

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
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

// Made is a new record ready to be stored.
type Made struct {
	Doc      *record.Doc
	Body     record.Body
	Revision rev.ID
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
	var parent rev.ID
	if c.Before != nil {
		parent = c.Before.Revision
	}
	st.Parent = parent.Hash
	if c.Is == nil {
		st.Revision = rev.Next(parent, true, []byte(record.Tombstone(c.Kind, c.Into)))
		return
	}
	st.Body, st.Revision = c.Is.Encode(), c.Is.Revision(parent)
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
	if next.Deleted {
		o.Store.Rules.Deleted(o, k, next.ID)
	}
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
	return slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) })
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
	return o.EachLive(record.Membership, ids, func(before *Stored) error {
		d, err := before.Decode(record.Membership)
		if err != nil {
			return err
		}
		home, err := HomeOf(o, record.Membership, d)
		if err != nil {
			return err
		}
		next := *before
		next.Scopes = [2]scopes.Scope{}
		copy(next.Scopes[:], record.Membership.Scopes(next.ID, home))
		if err := Welcome(o, record.Membership, before, &next); err != nil {
			return err
		}
		Place(o, record.Membership, before, &next)
		return nil
	})
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

// Do hands one operation to the writer and waits for its commit.
func (s *Set) Do(run func(*Tx) error) error {
	return opError(s.Engine.Do(false, func(tx *engine.Tx) error { return s.Commits.run(tx, run) }))
}

// DoAtDoor is Do for an operation of a door, which goes before all others.
func (s *Set) DoAtDoor(run func(*Tx) error) error {
	return opError(s.Engine.Do(true, func(tx *engine.Tx) error { return s.Commits.run(tx, run) }))
}

// DoAll hands a bulk of operations to the writer. It returns the error of each operation, or the one for which none was done.
func (s *Set) DoAll(runs []func(*Tx) error) (errs []error, err error) {
	ops := make([]engine.Op, len(runs))
	for i := range ops {
		ops[i].Run = func(tx *engine.Tx) error { return s.Commits.run(tx, runs[i]) }
	}
	if err := s.Engine.DoAll(ops); err != nil {
		return nil, err
	}
	errs = make([]error, len(ops))
	for i := range ops {
		errs[i] = opError(ops[i].Err)
	}
	return errs, nil
}

// opError is the error of an operation for its caller.
func opError(err error) error {
	if errors.Is(err, engine.ErrTooLong) {
		return Refused("a value is too long to be found by")
	}
	return err
}

// DoEach hands one step for each of some things to the writer, in bulks of bounded size, each step on its own. It returns the first error; the
// other steps of the same bulk are done all the same.
func DoEach[T any](s *Set, all []T, run func(*Tx, T) error) error {
	for part := range slices.Chunk(all, MaxRows) {
		runs := make([]func(*Tx) error, len(part))
		for i, one := range part {
			runs[i] = func(o *Tx) error { return run(o, one) }
		}
		errs, err := s.DoAll(runs)
		if err := cmp.Or(append(errs, err)...); err != nil {
			return err
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

// Standing returns a principal as its key is in a View, or in an operation after those before it in its group. It returns ErrBadLogin if the
// key is gone or expired, and ErrRevoked if it is revoked.
type Standing func(*View, auth.Principal) (auth.Principal, error)

// By is an operation of a principal that logged in before. If the key stands no longer it returns the error of s, and run is not called.
func (s Standing) By(p auth.Principal, run func(*Tx) error) func(*Tx) error {
	return func(o *Tx) error {
		if _, err := s(o.View, p); err != nil {
			return err
		}
		return run(o)
	}
}

// Rekeying reports whether a View, or an operation, may show api keys that the follower of the commits does not know yet: an operation before
// this one has changed one, or a commit that has is under way.
func (v *View) Rekeying() bool {
	return v.Group != nil && v.Group.rekeyed || v.Store.Commits.rekeying.Load()
}

// Commits runs the operations of each group that the engine commits, and tells callers of the changes.
type Commits struct {
	tables   *Set
	writing  writing
	followed func([]ListChange) // is told of each committed group
	seq      atomic.Uint64      // of the latest change that is committed
	releases atomic.Uint64
	rekeying atomic.Bool // a commit that holds api keys is under way: followed was not told yet
	Bell     Bell        // rings when seq or releases has grown
	Bells    bells       // of the single databases
	Edits    uint64
	LastEdit int // version of the latest commit that held more than facts
}

// writing is what the engine's writer keeps from one operation to the next. Only the writer uses it.
type writing struct {
	state state // as the latest commit has left it
	group group
	op    Tx   // the one that runs; reused
	sight View // its
	doors doorMemory
}

// group is the state that the operations of one commit share.
type group struct {
	now     time.Time
	stamp   int64
	doubted bool
	state   state
	Lists   []ListChange
	rung    []FeedName // the feeds that have grown
	Edited  bool       // it holds more than facts
	rekeyed bool       // it holds api keys
}

// read reads the state that the last commit has written.
func (c *Commits) read(r *engine.View) (err error) {
	if c.writing.state, err = ReadState(r); err != nil {
		return Identified(StateKey, err)
	}
	c.seq.Store(c.writing.state.Seq)
	return nil
}

// Seq is the sequence of the latest change.
func (c *Commits) Seq() uint64 { return c.seq.Load() }

// Releases grows whenever this process takes records out of the file without a tombstone. A follower of the log learns of them by
// this number alone.
func (c *Commits) Releases() uint64 { return c.releases.Load() }

// Released tells the followers of the log that records were taken out of the file.
func (c *Commits) Released() {
	c.releases.Add(1)
	c.Bell.Ring()
}

// hooks tie the store to the engine's commits.
func (c *Commits) hooks() engine.Hooks {
	return engine.Hooks{Begin: c.begin, Kept: c.keep, Seal: c.seal, Committed: c.committed, Refused: c.refused}
}

// keptChanges is for how many changes of lists the memory of a group is used again.
const keptChanges = 4096

// begin begins a group.
func (c *Commits) begin() {
	s, last := c.tables, &c.writing.state
	g := group{now: s.Clock.Now(), state: *last}
	if lists := c.writing.group.Lists; cap(lists) <= keptChanges {
		g.Lists = lists[:0] // whoever was told of them keeps none
	}
	g.doubted = s.Clock.Judge(g.now) != ""
	jumped := false
	if g.stamp, jumped = g.state.commitTime(g.now, g.doubted); jumped {
		s.Log.Warn("commit times go back: the last commit lay ahead of the clock", slog.Duration("ahead", time.Duration(last.stamp-g.stamp)*time.Microsecond))
	}
	c.writing.group = g
}

// seal writes the rows of every commit. It publishes the lists of the commit under its version before the commit is durable. A reader
// uses them as soon as its View has that version.
func (c *Commits) seal(tx *engine.Tx, version int) {
	s, g := c.tables, &c.writing.group
	g.state.stamp = g.stamp
	if s.Reads.oldest.Load() != 0 {
		s.Reads.ended(minuteOf(g.now), version).write(tx, !g.doubted)
	}
	tx.Put(MetaBucket, StateKey, g.state.Encode())
	if g.Edited {
		c.LastEdit = version
	}
	if g.rekeyed {
		c.rekeying.Store(true)
	}
	c.Edits++
	s.Lists.publish(s.Lists.Current().with(version, c.Edits, g.Lists))
}

// refused forgets what the operations of a group have remembered that was not kept.
func (c *Commits) refused() {
	c.writing.doors = doorMemory{}
	c.tables.Reads.refused(c.tables.Lists.Current().Tx)
}

// committed publishes a durable group and wakes the callers that wait for its changes.
func (c *Commits) committed() {
	g := &c.writing.group
	c.writing.state = g.state
	c.seq.Store(g.state.Seq)
	c.Bell.Ring()
	c.Bells.ring(g.rung)
	c.Bells.ringScopes(g.Lists)
	if c.followed != nil {
		c.followed(g.Lists)
	}
	c.rekeying.Store(false)
}

// run runs one operation of the group.
func (c *Commits) run(tx *engine.Tx, fn func(*Tx) error) error {
	w := &c.writing
	g := &w.group
	doors := &w.doors
	if tx.Full() != nil {
		doors = &doorMemory{} // nothing will be written, so nothing is remembered
	}
	w.sight = View{View: &tx.View, Store: c.tables, Now: g.now, Lists: c.tables.Lists.Current(), Group: g}
	o := &w.op // the one before has ended
	*o = Tx{
		View: &w.sight, Tx: tx, State: g.state, Stamp: g.stamp, Doubted: g.doubted, Doors: doors,
		Changed: o.Changed[:0], Rung: o.Rung[:0], Scratch: o.Scratch,
	}
	err := fn(o)
	if err != nil {
		c.tables.Damage.Note(err)
	}
	return err
}

// keep adds the operation's changes to its group.
func (c *Commits) keep() {
	o, g := &c.writing.op, &c.writing.group
	g.state = o.State
	if n := len(g.Lists) + len(o.Changed); n > cap(g.Lists) {
		g.Lists = append(make([]ListChange, 0, 2*n), g.Lists...) // a bulk's group has thousands
	}
	g.Lists = append(g.Lists, o.Changed...)
	g.ring(o.Rung)
	g.Edited = g.Edited || slices.ContainsFunc(o.Changed, func(c ListChange) bool { return c.Kind == nil || !c.Kind.Fact })
	g.rekeyed = g.rekeyed || slices.ContainsFunc(o.Changed, func(c ListChange) bool { return c.Kind == record.APIKey })
}

// ring notes the feeds that an operation has added to. Their bells ring after the commit.
func (g *group) ring(names []FeedName) {
	for _, name := range names {
		if !slices.Contains(g.rung, name) {
			g.rung = append(g.rung, name)
		}
	}
}

// state holds the writer's counters. An operation works on a copy. The commit writes the copy of its last operation.
type state struct {
	Seq    uint64                   // of the latest change
	Hlc    uint64                   // hybrid logical clock: 48 bits of milliseconds, 16 bits of counter
	stamp  int64                    // the latest commit's time, microseconds
	Minted [engine.NumBuckets]int64 // by kind: the largest integer id ever used
}

var StateKey = []byte("state") // in meta

// Encode is the row in meta: sequence, hybrid clock and stamp as uv, and the mark of each kind.
func (s *state) Encode() []byte {
	b := binary.AppendUvarint(nil, s.Seq)
	b = binary.AppendUvarint(b, s.Hlc)
	b = binary.AppendUvarint(b, uint64(s.stamp))
	for number, n := range s.Minted {
		if n > 0 {
			b = append(b, byte(number))
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	return b
}

// ReadState reads the state that the last commit has written. It is zero in a store without a commit.
func ReadState(r *engine.View) (s state, err error) {
	row, err := r.Get(MetaBucket, StateKey)
	if err != nil || row == nil {
		return s, err
	}
	c := Cutter{Rest: row}
	s.Seq, s.Hlc, s.stamp = c.Uvarint(), c.Uvarint(), int64(c.Uvarint())
	for len(c.Rest) > 0 {
		number := c.Byte()
		if n := c.Uvarint(); int(number) < len(s.Minted) {
			s.Minted[number] = int64(n)
		}
	}
	if c.Short {
		return s, engine.ErrCorrupt
	}
	return s, nil
}

// LastChange is when the last commit was made.
func (s *Set) LastChange() (at time.Time, err error) {
	err = s.View(func(v *View) error {
		st, err := ReadState(v.View)
		at = time.UnixMicro(st.stamp)
		return err
	})
	return at, err
}

// Tick moves the hybrid clock past every time that it has given, and to the wall clock if that is later.
func (s *state) Tick(now time.Time) uint64 {
	s.Hlc = max(s.Hlc+1, millis(now)<<16)
	return s.Hlc
}

// millis is a wall clock as the hybrid one takes it; before 1970 it is 1970.
func millis(now time.Time) uint64 { return uint64(max(0, now.UnixMilli())) }

// maxAhead is how far a stamp of another node may lie ahead of our clock and still move the hybrid clock.
const maxAhead = 24 * time.Hour

// Observe moves the hybrid clock to a stamp of another node, so that later records of this store come after that node's. A stamp that
// lies too far ahead, as of a laptop in the year 2035, is ignored (design.md §4).
func (s *state) Observe(stamp uint64, now time.Time) {
	if stamp>>16 <= millis(now.Add(maxAhead)) {
		s.Hlc = max(s.Hlc, stamp)
	}
}

// commitTime is the stamp of a commit made now. It is never earlier than the commit before, unless that lies too far ahead of a clock
// that is not doubted (design.md §3). jumped tells that the stamp went back.
func (s *state) commitTime(now time.Time, doubted bool) (stamp int64, jumped bool) {
	stamp = now.UnixMicro()
	if stamp >= s.stamp {
		return stamp, false
	}
	if s.stamp-stamp > ClockSlack.Microseconds() && !doubted {
		return stamp, true
	}
	return s.stamp, false
}

// Mint is the next free id of a counting kind. left is false if only ids that are drawn follow, as after an id that a caller gave.
func (s *state) Mint(k *record.Kind) (id record.ID, left bool) {
	if s.Minted[k.Number] >= record.FirstDrawn-1 {
		return record.ID{}, false
	}
	s.Minted[k.Number]++
	return record.Int(s.Minted[k.Number]), true
}

// Use raises the mark to an id that a caller gave or that came from another node, so that no mint and no lease gives it again. Ids
// that are drawn at random and ids of facts have no mark.
func (s *state) Use(k *record.Kind, id record.ID) {
	if k.ULID || id.Int() >= record.FirstDrawn {
		return
	}
	s.Minted[k.Number] = max(s.Minted[k.Number], id.Int())
}

// NewFactID is the id of a fact made now.
func NewFactID(now time.Time) record.ID {
	return record.FromULID(ulid.MustNew(millis(now), rand.Reader))
}
