package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv"
	"doorward/kv/desk"
)

// ErrClosed is what Rebuild answers when the index is closed before it is done.
var ErrClosed = errors.New("the search index is closed")

// Config names the store that an index follows, and the folder of the index.
type Config struct {
	Store      *kv.Store
	Dir        string                // the data folder; the index lies in its folder index
	Logger     *slog.Logger          // nil = silent
	Registerer prometheus.Registerer // nil = not registered
	Sweep      time.Duration         // what was deleted leaves the files so long after; 0 = 30 seconds
	Retry      time.Duration         // a folder that cannot be used is tried again so long after; 0 = 1 minute
}

// Index names the records that a search may mean. It follows the store's log by itself until it is closed.
type Index struct {
	Config
	from      []source
	folder    folder
	edits     *edits
	metrics   *metrics
	serving   atomic.Pointer[follower] // nil while the index cannot be asked
	preparing atomic.Pointer[follower] // it is being built or opened
	rounds    rounds
	end       func() // ends all of its goroutines, and waits for them
}

// Open starts following a store. Whatever lies in the folder, it neither fails nor waits: until the index has caught up, Find
// answers desk.ErrNoIndex.
func Open(c Config) (*Index, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Sweep == 0 {
		c.Sweep = 30 * time.Second
	}
	if c.Retry == 0 {
		c.Retry = time.Minute
	}
	by, err := newEdits()
	if err != nil {
		return nil, fmt.Errorf("open search index: %w", err)
	}
	from := sources()
	x := &Index{Config: c, from: from, edits: by, folder: folder{filepath.Join(c.Dir, "index"), fingerprint(from)}}
	x.metrics = newMetrics(x, c.Registerer)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		x.keep(ctx)
	}()
	x.end = sync.OnceFunc(func() {
		cancel()
		<-ended
		x.metrics.unregister()
	})
	return x, nil
}

// Close ends following. What is not on disk yet is replayed from the log after the next Open.
func (x *Index) Close() { x.end() }

// Find names candidates, as desk.Finder promises. It returns desk.ErrNoIndex until the index has caught up.
func (x *Index) Find(w desk.Wanted) (found desk.Found, err error) {
	f := x.serving.Load()
	if f == nil {
		return desk.Found{}, desk.ErrNoIndex
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func(start time.Time) {
		if found := recover(); found != nil {
			err = fmt.Errorf("%w: %v", errBroken, found)
		}
		if err != nil {
			x.breakDown(f, err)
			found, err = desk.Found{}, desk.ErrNoIndex
		}
		x.metrics.queries.WithLabelValues(mode(w)).Observe(time.Since(start).Seconds())
	}(time.Now())
	return f.find(w, x.edits)
}

// breakDown has an index rebuilt that could not answer. It does nothing if that index no longer answers searches.
func (x *Index) breakDown(f *follower, why error) {
	if x.serving.CompareAndSwap(f, nil) {
		x.rounds.interrupt(broken(why))
	}
}

// Status says how an index is.
type Status struct {
	Usable    bool   // it can be asked
	Documents int    // records in it
	Lag       uint64 // changes of the log that it has not looked at
}

// Status says how the index is now.
func (x *Index) Status() Status {
	f := x.shown()
	if f == nil {
		return Status{Lag: x.Store.Tables.Commits.Seq()}
	}
	at := f.at.Load()
	return Status{Usable: x.serving.Load() == f, Documents: int(f.documents.Load()), Lag: max(x.Store.Tables.Commits.Seq(), at) - at}
}

// shown returns the follower that Status is about: the one that answers searches, else the one that is being prepared, or nil.
func (x *Index) shown() *follower {
	if f := x.serving.Load(); f != nil {
		return f
	}
	return x.preparing.Load()
}

// Await returns nil once the index can be asked and has looked at the log up to a sequence, or the error of ctx when that ends
// first.
func (x *Index) Await(ctx context.Context, seq uint64) error {
	for {
		news := x.rounds.hear()
		if f := x.serving.Load(); f != nil && f.at.Load() >= seq {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Rebuild builds a new index beside the present one, which searches use until then, and returns when the new one answers them. Progress,
// which may be nil, is told how many of all records are in it. Errors: ctx's, ErrClosed, and what keeps the folder from being used.
func (x *Index) Rebuild(ctx context.Context, progress func(done, total int)) error {
	if progress == nil {
		progress = func(int, int) {}
	}
	r := &request{progress: progress, done: make(chan error, 1)}
	x.rounds.ask(r)
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
