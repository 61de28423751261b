package index

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// errAsked ends a round because a rebuild was asked for.
var errAsked = errors.New("a rebuild was asked for")

// request is a rebuild that was asked for.
type request struct {
	progress func(done, total int)
	done     chan error // has room for the answer
}

// rounds are what an index does one after the other: open what lies in the folder, follow the log until something is wrong
// with it, begin again.
type rounds struct {
	current atomic.Pointer[follower] // of the present round, building or ready
	mu      sync.Mutex
	asked   []*request
	stop    context.CancelCauseFunc // ends the present round
	ended   bool
	news    chan struct{} // closed by the next news
}

// tell wakes the goroutines that wait for progress of the index.
func (r *rounds) tell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.news != nil {
		close(r.news)
		r.news = nil
	}
}

// hear returns a channel that is closed at the next progress of the index.
func (r *rounds) hear() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.news == nil {
		r.news = make(chan struct{})
	}
	return r.news
}

// ask has the next round rebuild the index, and begin at once.
func (r *rounds) ask(q *request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		q.done <- ErrClosed
		return
	}
	r.asked = append(r.asked, q)
	if r.stop != nil {
		r.stop(errAsked)
	}
}

// interrupt ends the present round.
func (r *rounds) interrupt(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil {
		r.stop(cause)
	}
}

// next begins a round, with the rebuilds that were asked for.
func (r *rounds) next(ctx context.Context) (context.Context, []*request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, r.stop = context.WithCancelCause(ctx)
	asked := r.asked
	r.asked = nil
	return ctx, asked
}

// close answers the requests that are still open with ErrClosed.
func (r *rounds) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.stop != nil {
		r.stop(ErrClosed)
	}
	answer(r.asked, ErrClosed)
}

func answer(asked []*request, err error) {
	for _, q := range asked {
		select {
		case q.done <- err:
		default: // it has been answered
		}
	}
}

// keep has one round after the other until ctx ends.
func (x *Index) keep(ctx context.Context) {
	defer x.rounds.close()
	warned, broken := false, 0
	for ctx.Err() == nil {
		round, asked := x.rounds.next(ctx)
		ready, err := x.round(round, asked)
		if cause := context.Cause(round); cause != nil {
			err = cause
		}
		if ready {
			asked = nil // answered
		}
		switch {
		case ctx.Err() != nil:
			answer(asked, ErrClosed)
			return
		case errors.Is(err, errAsked):
			x.rounds.requeue(asked)
		case errors.Is(err, errOther):
			x.Logger.Info("the search index is built: the one before was another store's, as after a restore")
			if err = x.folder.discard(); err == nil {
				x.rounds.requeue(asked)
				continue
			}
			answer(asked, err)
			x.Logger.Warn("another store's search index cannot be removed; searches look at every record", "error", err)
			pause(round, x.Retry)
		case errors.Is(err, errBroken):
			x.Logger.Warn("the search index is rebuilt", "reason", err)
			if broken++; ready {
				broken = 1
			}
			if err = x.folder.setAside(); err == nil && broken < 3 {
				x.rounds.requeue(asked)
				continue
			}
			fallthrough
		default:
			answer(asked, err)
			if !warned || ready {
				x.Logger.Warn("the search index cannot be used; searches look at every record", "error", err)
			}
			warned = true
			pause(round, x.Retry)
		}
	}
}

// requeue keeps requests that are not done for the next round.
func (r *rounds) requeue(asked []*request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, asked...)
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
