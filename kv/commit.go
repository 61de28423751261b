package kv

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
	op       op    // the one that runs; reused
	sight    sight // its
	doors    doorMemory
	edits    uint64
	lastEdit int // version of the latest commit that held more than facts
}

// group is what the operations of one commit share, as those before have left it.
type group struct {
	now     time.Time
	stamp   int64
	doubted bool
	state   state
	lists   []listChange
	rung    []feedName // the feeds that have grown
	edited  bool       // it holds more than facts
}

// hooks tie the store to the engine's commits.
func (s *tables) hooks() engine.Hooks {
	return engine.Hooks{Begin: s.begin, Seal: s.seal, Committed: s.committed}
}

// begin begins a group.
func (s *tables) begin() {
	g := group{now: s.clock(), state: s.commits.state}
	g.doubted = s.judgeClock(g.now) != ""
	jumped := false
	if g.stamp, jumped = g.state.commitTime(g.now, g.doubted); jumped {
		s.log.Warn("commit times go back: the last commit lay ahead of the clock", slog.Duration("ahead", time.Duration(s.commits.state.stamp-g.stamp)*time.Microsecond))
	}
	s.commits.group = g
}

// seal writes what every commit holds. The lists that show the commit are published under its version before it is durable: a reader finds
// them the moment it can see the commit, and never before.
func (s *tables) seal(tx *engine.Tx, version int) {
	c := &s.commits
	g := &c.group
	g.state.stamp = g.stamp
	s.reads.ended(minuteOf(g.now)).write(tx, !g.doubted)
	tx.Put(metaBucket, stateKey, g.state.encode())
	if g.edited {
		c.lastEdit = version
	}
	c.edits++
	s.publish(s.current().with(version, c.edits, g.lists))
}

// committed publishes a durable group and wakes the callers that wait for its changes.
func (s *tables) committed() {
	g := &s.commits.group
	s.commits.state = g.state
	s.seq.Store(g.state.seq)
	s.bell.ring()
	s.bells.ring(g.rung)
	s.bells.ringScopes(g.lists)
	if s.followed != nil {
		s.followed(g.lists)
	}
}

// run runs one operation of the group.
func (s *tables) run(tx *engine.Tx, fn func(*op) error) error {
	c := &s.commits
	g := &c.group
	doors := &c.doors
	if tx.Full() != nil {
		doors = &doorMemory{} // nothing is remembered of what is not written
	}
	c.sight = sight{View: &tx.View, store: s, now: g.now, lists: s.current()}
	o := &c.op // the one before has ended
	*o = op{
		sight: &c.sight, tx: tx, state: g.state, stamp: g.stamp, doubted: g.doubted, doors: doors, group: g,
		changed: o.changed[:0], rung: o.rung[:0], scratch: o.scratch,
	}
	if err := fn(o); err != nil {
		s.noteCorrupt(err)
		return err
	}
	tx.OnKept(s.keep)
	return nil
}

// keep makes what the operation has done part of its group.
func (s *tables) keep() {
	o, g := &s.commits.op, &s.commits.group
	g.state = o.state
	g.lists = append(g.lists, o.changed...)
	g.ring(o.rung)
	g.edited = g.edited || slices.ContainsFunc(o.changed, func(c listChange) bool { return c.kind == nil || !c.kind.Fact })
}

// step is one operation of several, and its error.
type step struct {
	run func(*op) error
	err error
}

// do hands one operation to the writer and waits for its commit.
func (s *tables) do(door bool, run func(*op) error) error {
	return opError(s.engine.Do(door, func(tx *engine.Tx) error { return s.run(tx, run) }))
}

// doAll hands a bulk of operations to the writer; each step keeps its own error.
func (s *tables) doAll(steps []step) error {
	ops := make([]engine.Op, len(steps))
	for i := range ops {
		ops[i].Run = func(tx *engine.Tx) error { return s.run(tx, steps[i].run) }
	}
	err := s.engine.DoAll(ops)
	for i := range ops {
		steps[i].err = opError(ops[i].Err)
	}
	return err
}

// opError is the error of an operation for its caller.
func opError(err error) error {
	if errors.Is(err, engine.ErrTooLong) {
		return refused("a value is too long to be found by")
	}
	return err
}

// doEach hands steps to the writer in operations of bounded size, up to the first that fails.
func (s *tables) doEach(steps []step) error {
	for part := range slices.Chunk(steps, MaxRows) {
		if err := s.doAll(part); err != nil {
			return err
		}
		for i := range part {
			if part[i].err != nil {
				return part[i].err
			}
		}
	}
	return nil
}
