package table

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"doorward/kv/engine"
)

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
