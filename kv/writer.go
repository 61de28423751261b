package kv

import (
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"doorward/kv/crash"
	"go.etcd.io/bbolt"
)

// A group closes at this many bytes of rows, or after this much bulk work while doors are about.
const (
	groupBytes   = 4 << 20
	bulkPatience = time.Millisecond
	doorsAbout   = time.Second
)

// groupYields is how often the writer gives way to callers before it closes a group that is smaller than the one before. Where
// nobody wants to run, all of it takes about a tenth of a millisecond.
const groupYields = 500

// writer is the one goroutine that writes: it takes what waits, runs each operation on an overlay of its own, commits them
// together and answers after the commit. The first error of a commit stops it for good.
type writer struct {
	store    *Store
	queue    *queue
	stopped  atomic.Pointer[stopCause]
	state    state
	arena    arena
	over     overlay
	rows     rows
	op       op    // the one that runs; reused
	sight    sight // its
	edits    uint64
	owed     bool // the group before had doors alone
	together int  // how many jobs the group before had
	doors    doorMemory
	lastEdit int     // number of the latest commit that held more than facts
	touched  touched // since the file that is to take this one's place was begun; nil = there is none
}

type stopCause struct{ err error }

// group is what one commit will hold.
type group struct {
	tx       *bbolt.Tx
	now      time.Time
	stamp    int64
	doubted  bool
	state    state
	jobs     []*job
	lists    []listChange
	rung     []feedName // the feeds that have grown
	bytes    int
	rows     int
	bulk     time.Duration // spent on other jobs than doors'
	door     bool          // holds a door's job
	yields   int           // to those who may come yet
	lastEdit int           // the writer's, of the commits before
	edited   bool          // holds more than facts itself
	full     error         // a *DiskFull: what writes nothing is done, the rest is not
}

func (w *writer) loop() {
	for j := w.queue.wait(); j != nil; j = w.queue.wait() {
		w.serve(j)
	}
}

// serve forms a group that begins with first, commits it and answers its jobs.
func (w *writer) serve(first *job) {
	if cause := w.stopped.Load(); cause != nil {
		first.done <- cause.err
		return
	}
	g := &group{}
	if err := w.begin(g); err != nil {
		g.jobs = append(g.jobs, first)
		w.stop(err, g)
		return
	}
	if err := w.fill(g, first); err != nil {
		_ = g.tx.Rollback() // its error could say no more than err
		w.stop(err, g)
		return
	}
	if err := w.commit(g); err != nil {
		w.stop(err, g)
		return
	}
	crash.At(crash.AfterCommit)
	for _, j := range g.jobs {
		for _, fn := range j.after {
			fn()
		}
		j.done <- j.full
		crash.At(crash.AmongAnswers)
	}
	if g.door && w.queue.bulkWaits() {
		runtime.Gosched() // the door's caller answers before bulk takes the processor again
	}
}

func (w *writer) begin(g *group) (err error) {
	if g.tx, err = w.store.file.Load().Begin(true); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	w.arena.reset()
	w.over.arena = &w.arena
	w.rows = rows{tx: g.tx, buckets: &bucketCache{}, over: &w.over}
	g.state, g.lastEdit = w.state, w.lastEdit
	g.full = w.store.disk.room(Checkins)
	g.now = w.store.clock()
	g.doubted = w.store.judgeClock(g.now) != ""
	jumped := false
	if g.stamp, jumped = g.state.commitTime(g.now, g.doubted); jumped {
		w.store.log.Warn("commit times go back: the last commit lay ahead of the clock", slog.Duration("ahead", time.Duration(w.state.stamp-g.stamp)*time.Microsecond))
	}
	return nil
}

// fill runs jobs until none waits or the group is large enough.
func (w *writer) fill(g *group, j *job) error {
	for {
		whole, err := w.runJob(g, j)
		if whole {
			g.jobs = append(g.jobs, j)
		}
		if err != nil {
			return err
		}
		if g.bytes >= groupBytes {
			return nil
		}
		if j = w.next(g); j == nil {
			w.owed = g.bulk == 0
			w.together = len(g.jobs)
			return nil
		}
	}
}

// next is one more job for the group; nil closes it. Those who were answered together mostly ask again together: the writer
// lets them, rather than pay for a commit that holds the first few alone.
func (w *writer) next(g *group) *job {
	for {
		j := w.queue.next(!w.doorsFirst(g))
		if j != nil || len(g.jobs) >= w.together || g.yields == groupYields {
			return j
		}
		g.yields++
		runtime.Gosched()
	}
}

// doorsFirst tells that this group takes no more bulk work because doors are about: it has had its time, or a door is in the
// group already, whose commit then stays small. Of two such groups the second owes the others their time.
func (w *writer) doorsFirst(g *group) bool {
	return (g.bulk >= bulkPatience || g.door && !w.owed) && w.queue.doorWithin(doorsAbout)
}

// runJob runs a job's steps. Where doors want the group closed it puts the job back with the steps that are left, and whole
// is false: the last of its groups answers it.
func (w *writer) runJob(g *group, j *job) (whole bool, err error) {
	for j.next < len(j.steps) {
		start := time.Now()
		if err := w.run(g, j, &j.steps[j.next]); err != nil {
			return true, err
		}
		j.next++
		if j.door {
			g.door = true
			continue
		}
		g.bulk += time.Since(start)
		if j.next < len(j.steps) && (w.doorsFirst(g) || w.queue.doorWaits()) {
			w.queue.putBack(j)
			return false, nil
		}
	}
	return true, nil
}

// run runs one operation. What it answers goes to its step; only a failure of the store itself is returned.
func (w *writer) run(g *group, j *job, st *step) error {
	w.over.reset()
	doors := &w.doors
	if g.full != nil {
		doors = &doorMemory{} // nothing is remembered of what is not written
	}
	o := &w.op // the last one's answer has been taken
	w.sight = sight{rows: w.rows, store: w.store, now: g.now, lists: w.store.current()}
	*o = op{
		sight: &w.sight,
		state: g.state, stamp: g.stamp, doubted: g.doubted, doors: doors, group: g, changed: o.changed[:0], rung: o.rung[:0], scratch: o.scratch,
	}
	if st.err = shield(o, st.run); st.err != nil {
		w.store.noteCorrupt(st.err)
		return nil
	}
	if len(w.over.entries) == 0 {
		return nil
	}
	if g.full != nil {
		j.full = g.full
		return nil
	}
	if w.over.tooLong() {
		st.err = refused("a value is too long to be found by")
		return nil
	}
	if err := w.flush(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	g.state = o.state
	g.bytes += w.over.bytes
	g.rows += len(w.over.entries)
	g.lists = append(g.lists, o.changed...)
	g.ring(o.rung)
	g.edited = g.edited || slices.ContainsFunc(o.changed, func(c listChange) bool { return c.kind == nil || !c.kind.Fact })
	j.after = append(j.after, o.after...)
	return nil
}

// shield runs an operation and turns a panic, which is a bug of ours, into its error.
func shield(o *op, run func(*op) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			o.store.log.Error("an operation panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = ErrPanicked
		}
	}()
	return run(o)
}

// commit makes the group durable. The lists that show it are published first, under the transaction's number: a reader
// finds them the moment it can see the commit, and never before.
func (w *writer) commit(g *group) error {
	if g.rows == 0 {
		return g.tx.Rollback()
	}
	g.state.stamp = g.stamp
	w.over.reset()
	w.store.reads.ended(minuteOf(g.now)).write(w.rows, !g.doubted)
	w.over.put(metaBucket, stateKey, g.state.encode())
	if err := w.flush(); err != nil {
		_ = g.tx.Rollback() // its error could say no more than err
		return fmt.Errorf("write state: %w", err)
	}
	number := w.store.file.Load().number(g.tx)
	if g.edited {
		w.lastEdit = number
	}
	w.edits++
	w.store.publish(w.store.current().with(number, w.edits, g.lists))
	crash.At(crash.BeforeCommit)
	start := time.Now()
	if err := w.store.turn.during(g.tx.Commit); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if err := w.store.file.Load().stands(Path(w.store.dir)); err != nil {
		return err
	}
	w.state = g.state
	w.store.metrics.committed(len(g.jobs), time.Since(start))
	w.store.seq.Store(g.state.seq)
	w.store.bell.ring()
	w.store.bells.ring(g.rung)
	w.store.bells.ringScopes(g.lists)
	return nil
}

// flush moves an operation's rows into the transaction, and notes them for the file that is to take this one's place.
func (w *writer) flush() error {
	if w.touched != nil {
		w.touched.note(w.over.entries)
	}
	return w.rows.flush()
}

// stop ends writing for good: after a failed commit nobody knows what the disk holds, so nothing is tried again.
func (w *writer) stop(err error, g *group) {
	cause := fmt.Errorf("%w: %w", ErrStopped, err)
	w.stopped.Store(&stopCause{cause})
	w.store.metrics.writable.Set(0)
	w.store.log.Error("the store has stopped taking writes", slog.Any("cause", err))
	for _, j := range g.jobs {
		j.done <- cause
	}
}
