package sync

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"doorward/sync/line"
	"doorward/sync/replicate"
)

// task is a replication that this server runs.
type task struct {
	id, source, target, user string
	live                     bool
	began                    time.Time
	cancel                   context.CancelFunc
	ended                    chan struct{}
	mu                       sync.Mutex // guards what follows
	updated                  time.Time
	done                     replicate.Outcome
}

// tasks are those that run. They end with the server.
type tasks struct {
	ctx     context.Context
	end     context.CancelFunc
	mu      sync.Mutex // guards what follows
	closed  bool
	running map[string]*task
	group   sync.WaitGroup
}

func newTasks() *tasks {
	t := &tasks{running: map[string]*task{}}
	t.ctx, t.end = context.WithCancel(context.Background())
	return t
}

// errClosing is a server that ends.
var errClosing = errors.New("the server is shutting down")

// begin adds a task. If one of the same id runs, it is returned instead. The caller calls finish in the end.
func (s *tasks) begin(k *task) (running *task, ctx context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, errClosing
	}
	if there := s.running[k.id]; there != nil {
		return there, nil, nil
	}
	ctx, k.cancel = context.WithCancel(s.ctx)
	k.ended = make(chan struct{})
	s.running[k.id] = k
	s.group.Add(1)
	return nil, ctx, nil
}

func (s *tasks) finish(k *task) {
	k.cancel()
	s.mu.Lock()
	delete(s.running, k.id)
	s.mu.Unlock()
	close(k.ended)
	s.group.Done()
}

// find returns the running task of an id, or nil.
func (s *tasks) find(id string) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[id]
}

// list returns the running tasks, the oldest first.
func (s *tasks) list() []*task {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*task, 0, len(s.running))
	for _, k := range s.running {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b *task) int {
		if n := a.began.Compare(b.began); n != 0 {
			return n
		}
		return strings.Compare(a.id, b.id)
	})
	return all
}

// close ends all tasks and waits for them.
func (s *tasks) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.group.Wait()
}

// note saves what a task has done so far.
func (k *task) note(at time.Time, done replicate.Outcome) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.updated, k.done = at, done
}

// activeTask is a row of _active_tasks.
type activeTask struct {
	Type       string        `json:"type"`
	ID         string        `json:"replication_id"`
	Source     string        `json:"source"`
	Target     string        `json:"target"`
	User       string        `json:"user"`
	Continuous bool          `json:"continuous"`
	Started    int64         `json:"started_on"`
	Updated    int64         `json:"updated_on"`
	Checked    int           `json:"revisions_checked"`
	Found      int           `json:"missing_revisions_found"`
	Read       int           `json:"docs_read"`
	Written    int           `json:"docs_written"`
	Failures   int           `json:"doc_write_failures"`
	Noted      line.Sequence `json:"checkpointed_source_seq"`
}

func (k *task) active() activeTask {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := activeTask{
		Type: "replication", ID: k.id, Source: k.source, Target: k.target, User: k.user, Continuous: k.live,
		Started: k.began.Unix(), Updated: k.updated.Unix(),
	}
	if len(k.done.History) > 0 {
		run := k.done.History[0]
		a.Checked, a.Found, a.Read, a.Written, a.Failures, a.Noted = run.Checked, run.Found, run.Read, run.Written, run.Failures, run.Recorded
	}
	return a
}
