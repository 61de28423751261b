package table

import (
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/engine"
	"doorward/kv/record"
)

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
	s.Reads.ended(minuteOf(g.now), version).write(tx, !g.doubted)
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
	if err := fn(o); err != nil {
		c.tables.Damage.Note(err)
		return err
	}
	return nil
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

// SeqGauge is the gauge of Seq.
func SeqGauge(s *Set) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_store_sequence", Help: "Sequence of the latest change."}, func() float64 {
		return float64(s.Commits.Seq())
	})
}
