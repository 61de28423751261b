package engine

import (
	"sync"
	"sync/atomic"
	"time"
)

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
