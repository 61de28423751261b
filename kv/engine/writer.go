package engine

import (
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"doorward/kv/crash"
	"doorward/kv/disk"
)

// doorsAbout is for how long after an operation of a door more of them are expected.
const doorsAbout = time.Second

// A group closes at this many bytes of rows, or after this much bulk work while doors are about.
const (
	groupBytes   = 1 << 20
	bulkPatience = time.Millisecond
)

// groupYields is how often the writer gives way to callers before it closes a group that is smaller than the one before. Where
// no other goroutine wants to run, all of it takes about a tenth of a millisecond.
const groupYields = 500

// writer is the one goroutine that writes: it takes what waits, runs each operation on an overlay of its own, appends them to the log together
// and answers after the sync. The first error of a commit stops it for good.
type writer struct {
	*current
	journal  *journal
	folding  *folding
	queue    *queue
	hooks    Hooks
	arena    arena
	over     overlay
	cache    cache
	tx       Tx       // of the operation that runs; reused
	owed     bool     // the group before had doors alone
	together int      // how many jobs the group before had
	tables   []*table // that an operation sees; reused
}

// group is what one commit will hold.
type group struct {
	tx     *bbolt.Tx // of the file, to read
	table  *table    // what the writer has committed and not folded, and the group's own rows
	record [][]byte  // the group's rows, as the log has them
	base   int       // the version before it
	folded int       // the transaction of bbolt that has written it into the file; 0 = none has
	jobs   []*job
	ran    []ran // what ran since the group has rows
	bytes  int
	bulk   time.Duration // spent on other jobs than doors'
	door   bool          // holds a door's job
	yields int           // to callers that may come yet
	full   error         // a *disk.Full: what writes nothing is done, the rest is not
}

// ran is a job that has rows in a group, or may have read rows of the group. If the group is refused, its answer would be wrong.
type ran struct {
	job   *job
	after int // how many functions it had to run before
}

func (w *writer) loop() {
	for j := w.queue.wait(); j != nil; j = w.queue.wait() {
		w.serve(j)
	}
}

// serve forms a group that begins with first, commits it and answers its jobs.
func (w *writer) serve(first *job) {
	g := w.group(first)
	if g == nil {
		return // it is answered
	}
	crash.At(crash.AfterCommit)
	for _, j := range g.jobs {
		for _, fn := range j.after {
			fn()
		}
		j.done <- j.full
		crash.At(crash.AmongAnswers)
	}
	if w.queue.bulkWaits() && w.queue.doorWithin(doorsAbout) {
		runtime.Gosched() // what doors' callers do goes on before bulk takes the processor again
	}
}

// group forms a group that begins with first and commits it. It returns nil where it could not, and the group's jobs have that error.
func (w *writer) group(first *job) *group {
	defer w.exclude()()
	if err := w.stopErr(); err != nil {
		first.done <- err
		return nil
	}
	g := &group{}
	if err := w.begin(g); err != nil {
		g.jobs = append(g.jobs, first)
		w.fail(g, err)
		return nil
	}
	defer func() {
		_ = g.tx.Rollback() // it was only read
		clear(w.tables)     // a fold frees them
		w.cache = cache{}   // it reads them
	}()
	err := w.fill(g, first)
	if err == nil {
		err = w.commit(g)
	}
	if err != nil {
		w.fail(g, err)
		return nil
	}
	return g
}

func (w *writer) begin(g *group) error {
	tx, at, err := w.snapshot()
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	g.tx, g.base, g.table = tx, at.sequence, at.active().copy()
	w.tables = append(append(w.tables[:0], g.table), at.tables[1:]...)
	w.arena.reset()
	w.over.arena, w.cache = &w.arena, cache{}
	if g.full = w.room.Check(disk.Checkins); g.full == nil {
		g.full = w.folding.overfull()
	}
	if w.hooks.Begin != nil {
		w.hooks.Begin()
	}
	return nil
}

// fill runs jobs until none waits or the group is large enough.
func (w *writer) fill(g *group, j *job) error {
	for {
		whole, err := w.runJob(g, j)
		if whole {
			g.jobs = append(g.jobs, j)
		} else {
			w.together = 0 // doors want the group closed, so no more callers are waited for
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

// next is one more job for the group; nil closes it. Callers that were answered together mostly ask again together: the writer waits for them,
// instead of paying for a commit of the first few alone.
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

// doorsFirst tells that this group takes no more bulk work because doors are about: it has had its time, or a door is in the group already,
// and its commit stays small. Of two groups of doors in a row the second owes the others their time.
func (w *writer) doorsFirst(g *group) bool {
	return (g.bulk >= bulkPatience || g.door && !w.owed) && w.queue.doorWithin(doorsAbout)
}

// runJob runs a job's operations. Where doors want the group closed it puts the job back with the operations that are left, and whole is false:
// the last of its groups answers it.
func (w *writer) runJob(g *group, j *job) (whole bool, err error) {
	if len(g.ran) > 0 {
		g.ran = append(g.ran, ran{j, len(j.after)})
	}
	for j.next < len(j.ops) && j.full == nil {
		start := time.Now()
		if err := w.run(g, j, &j.ops[j.next]); err != nil {
			return true, err
		}
		j.next++
		if j.door {
			g.door = true
			continue
		}
		g.bulk += time.Since(start)
		if j.next < len(j.ops) && (w.doorsFirst(g) || w.queue.doorWaits()) {
			w.queue.putBack(j)
			return false, nil
		}
	}
	return true, nil
}

// run runs one operation. Its error goes to its caller; only a failure of the store itself is returned.
func (w *writer) run(g *group, j *job, o *Op) error {
	tx := w.begun(g)
	if o.Err = w.shield(tx, o.Run); o.Err != nil || len(w.over.entries) == 0 {
		return nil
	}
	if g.full != nil {
		j.full = g.full
		return nil
	}
	if w.over.tooLong() {
		o.Err = ErrTooLong
		return nil
	}
	if err := w.keep(g); err != nil {
		return err
	}
	g.bytes += w.over.bytes
	if len(g.ran) == 0 {
		g.ran = append(g.ran, ran{j, len(j.after)})
	}
	if w.hooks.Kept != nil {
		w.hooks.Kept()
	}
	j.after = append(j.after, tx.after...)
	return nil
}

// begun is the Tx of the next operation. The operation before has ended.
func (w *writer) begun(g *group) *Tx {
	w.over.reset()
	w.tx = Tx{
		View:    View{tx: g.tx, schema: w.schema, cache: &w.cache, tables: w.tables, over: &w.over, version: g.base},
		current: w.current, full: g.full, after: w.tx.after[:0],
	}
	return &w.tx
}

// shield runs an operation and turns a panic, which is a bug of ours, into its error.
func (w *writer) shield(tx *Tx, run func(*Tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.log.Error("an operation panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = ErrPanicked
		}
	}()
	return run(tx)
}

// keep makes an operation's rows part of the group.
func (w *writer) keep(g *group) error {
	rows := appendRows(make([]byte, 0, rowsSize(w.over.entries)), w.over.entries)
	g.record = append(g.record, rows)
	return g.table.add(rows)
}

// commit makes the group durable, and then shows it to readers.
func (w *writer) commit(g *group) error {
	if len(g.record) == 0 {
		return nil
	}
	if !w.unlogged {
		refusal, err := w.journal.ready(g.record)
		if err != nil {
			return err
		}
		if refusal != nil {
			w.refuse(g, refusal)
			return nil
		}
	}
	tx := w.begun(g)
	if w.hooks.Seal != nil {
		w.hooks.Seal(tx, g.base+1)
	}
	if err := w.keep(g); err != nil {
		return err
	}
	crash.At(crash.BeforeCommit)
	start := time.Now()
	if err := w.turn.During(func() error { return w.write(g) }); err != nil {
		return err
	}
	if err := w.stands(); err != nil {
		return err
	}
	w.publish(g)
	w.metrics.commits.Observe(time.Since(start).Seconds())
	w.metrics.group.Observe(float64(len(g.jobs)))
	_ = g.tx.Rollback() // a View that the hook opens waits for a fold that maps a larger file, and that waits for this
	if w.hooks.Committed != nil {
		w.hooks.Committed()
	}
	return nil
}

// refuse gives up a group of which nothing is durable yet: its jobs have written nothing. A job that ran in it twice keeps the functions that it had
// before the first time.
func (w *writer) refuse(g *group, cause error) {
	for _, of := range slices.Backward(g.ran) {
		of.job.full, of.job.after = cause, of.job.after[:of.after]
	}
	if w.hooks.Refused != nil {
		w.hooks.Refused()
	}
}

// fail ends writing for good, and tells the jobs of a group so.
func (w *writer) fail(g *group, err error) {
	cause := w.stop(err)
	for _, j := range g.jobs {
		j.done <- cause
	}
}

// exclude has the state change by the writer alone until the function that it returns is called. It waits while too much lies above the file. Where there
// is no log the writer changes the file itself, so no rewriting goes on either.
func (w *writer) exclude() (end func()) {
	if w.unlogged {
		w.folding.mu.Lock()
	}
	w.change.Lock()
	w.folding.roomy()
	return func() {
		w.change.Unlock()
		if w.unlogged {
			w.folding.mu.Unlock()
		}
	}
}

// write makes a group durable: in the log, or in the file where there is none.
func (w *writer) write(g *group) error {
	if !w.unlogged {
		short, err := w.journal.append(g.record)
		if short {
			w.folding.ring()
		}
		return err
	}
	t := g.table
	t.upTo = w.state.Load().mark
	t.upTo.Sequence = uint64(g.base + 1)
	tx, err := w.folding.apply(t.feed(), nil, t.upTo.put)
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	w.folding.touch(t)
	g.table, g.folded = &table{upTo: t.upTo}, tx
	return nil
}

// publish shows readers a group that is durable.
func (w *writer) publish(g *group) {
	next := *w.state.Load()
	first := next.rows() == 0
	if g.folded != 0 {
		next.tx, next.mark = g.folded, g.table.upTo
	}
	next.tables = append([]*table{g.table}, next.tables[1:]...)
	next.sequence = g.base + 1
	w.set(&next)
	w.folding.grown(first)
}

// job is what a caller hands to the writer: one operation, or those of a bulk, each on its own.
type job struct {
	door  bool
	ops   []Op
	after []func() // run once the group is committed, before the answer
	done  chan error
	full  error       // a *disk.Full, or ErrBusy where no segment of the log can be opened: the job as a whole is refused, whatever else its operations return
	next  int         // the operation to run; those before it are in a group already
	taken atomic.Bool // by the writer, or back by its caller, which waited too long
}

// patience is how long a caller waits for the writer to begin.
const patience = 10 * time.Second

// wait waits for the job's answer. A job that the writer has not begun in time is taken back: ErrBusy, and nothing of it
// will ever be done.
func (j *job) wait() error {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case err := <-j.done:
		return err
	case <-late.C:
	}
	if j.taken.CompareAndSwap(false, true) {
		return ErrBusy
	}
	return <-j.done
}

// Op is an operation and its error.
type Op struct {
	Run func(*Tx) error
	Err error
}

// queue holds the jobs that wait for the writer, doors apart from the rest.
type queue struct {
	mu       sync.Mutex
	arrived  sync.Cond
	doors    []*job
	others   []*job
	lastDoor time.Time
	closed   bool
	stopped  bool // writing has ended for good: each job gets its error, those that were held too
	held     bool // others wait until the file has taken in more of the log
}

func newQueue() *queue {
	q := &queue{}
	q.arrived.L = &q.mu
	return q
}

// push hands a job in; false after close.
func (q *queue) push(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	if j.door {
		q.doors = append(q.doors, j)
	} else {
		q.others = append(q.others, j)
	}
	q.arrived.Signal()
	return true
}

// wait blocks for the next job; nil once the queue is closed and empty.
func (q *queue) wait() *job {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if j := q.take(true); j != nil || q.closed {
			return j
		}
		q.arrived.Wait()
	}
}

// next answers a job that is waiting already, doors first; nil where there is none, or only others and those are not wanted.
func (q *queue) next(others bool) *job {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.take(others)
}

func (q *queue) take(others bool) *job {
	if j := shift(&q.doors); j != nil {
		q.lastDoor = time.Now()
		return j
	}
	if others && (!q.held || q.closed || q.stopped) {
		return shift(&q.others)
	}
	return nil
}

// shift takes the first job that its caller has not taken back.
func shift(jobs *[]*job) *job {
	for len(*jobs) > 0 {
		j := (*jobs)[0]
		(*jobs)[0] = nil
		*jobs = (*jobs)[1:]
		if j.taken.CompareAndSwap(false, true) {
			return j
		}
	}
	return nil
}

// putBack returns a job that the writer has begun: it is the next of the others.
func (q *queue) putBack(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j.taken.Store(false)
	q.others = append([]*job{j}, q.others...)
}

// length is how many jobs wait.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.doors) + len(q.others)
}

// doorWaits tells whether a door is waiting.
func (q *queue) doorWaits() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.doors) > 0
}

// bulkWaits tells whether anything but doors is waiting.
func (q *queue) bulkWaits() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.others) > 0
}

// doorWithin tells whether a door has been served within the given time.
func (q *queue) doorWithin(d time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return time.Since(q.lastDoor) < d
}

// hold has jobs other than doors' wait, or lets them go on.
func (q *queue) hold(held bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held = held
	q.arrived.Broadcast()
}

func (q *queue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	q.arrived.Broadcast()
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.arrived.Broadcast()
}

// Which work waits for folds where the disk cannot keep up: at so many bytes in the tables.
const (
	bulkBytes = 16 << 20 // bulk work
	doorBytes = 24 << 20 // doors too
)

// roomy waits while too much lies above the file, unless the disk has no room to fold it.
func (f *folding) roomy() {
	for f.tooMuch() && f.stopErr() == nil && f.wrong == nil {
		f.done.Wait()
	}
}

func (f *folding) tooMuch() bool { return f.state.Load().bytes() >= doorBytes }

// refuses is overfull for whoever does not hold change, and mostly waits for nobody.
func (f *folding) refuses() error {
	if !f.tooMuch() {
		return nil
	}
	f.change.Lock()
	defer f.change.Unlock()
	return f.overfull()
}

// overfull is a *disk.Full while too much lies above the file and the disk has no room to fold it. Folds go on being tried.
func (f *folding) overfull() error {
	if f.wrong == nil || !f.tooMuch() {
		return nil
	}
	free, _ := f.room.Free()
	return &disk.Full{What: "changes that are not in the file yet", Need: f.state.Load().reserved(), Free: free}
}

// grown is told of each group that is published: a fold may be due, and bulk work may have to wait for it.
func (f *folding) grown(first bool) {
	s := f.state.Load()
	if first {
		f.since = time.Now()
	}
	if first || s.active().bytes >= foldBytes {
		f.ring()
	}
	if s.bytes() >= bulkBytes {
		f.queue.hold(true)
	}
}
