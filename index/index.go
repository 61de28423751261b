package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"doorward/kv"
	"doorward/kv/desk"
	"doorward/kv/record"
	"doorward/kv/table"

	bleve "github.com/blevesearch/bleve_index_api"
	"github.com/prometheus/client_golang/prometheus"
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
	GiveWay    time.Duration         // so long it waits at most for the end of bulk work beside doors; 0 = 10 seconds
	Bulk       uint64                // so many changes in a second are bulk work; 0 = 1000
}

// Index names the records that a search may mean. It follows the store's log by itself until it is closed.
type Index struct {
	Config
	kinds     []*record.Kind
	folder    folder
	edits     *edits
	metrics   *metrics
	serving   atomic.Pointer[follower] // nil while the index cannot be asked
	preparing atomic.Pointer[follower] // it is being built or opened
	rounds    rounds
	news      table.Bell // rings at each progress
	end       func()     // ends all of its goroutines, and waits for them
}

// Open starts following a store. Whatever lies in the folder, it neither fails nor waits: until the index has caught up, Find
// answers desk.ErrNoIndex.
func Open(c Config) (*Index, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Sweep, c.Retry = cmp.Or(c.Sweep, 30*time.Second), cmp.Or(c.Retry, time.Minute)
	c.GiveWay, c.Bulk = cmp.Or(c.GiveWay, 10*time.Second), cmp.Or(c.Bulk, 1000)
	by, err := newEdits()
	if err != nil {
		return nil, fmt.Errorf("open search index: %w", err)
	}
	kinds := indexed()
	x := &Index{Config: c, kinds: kinds, edits: by, folder: folder{filepath.Join(c.Dir, "index"), fingerprint(kinds)}}
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
	return x.news.Await(ctx, func() bool {
		f := x.serving.Load()
		return f != nil && f.at.Load() >= seq
	})
}

// Usable reports whether searches are answered from the index now.
func (x *Index) Usable() bool { return x.serving.Load() != nil }

// Rebuild builds a new index beside the present one, which searches use until then, and returns when the new one answers them, with the number of
// its records. Progress, which may be nil, is told how many of all records are in it. Errors: ctx's, ErrClosed, and what keeps the folder from
// being used.
func (x *Index) Rebuild(ctx context.Context, progress func(done, total int)) (documents int, err error) {
	if progress == nil {
		progress = func(int, int) {}
	}
	r := &request{progress: progress, done: make(chan error, 1)}
	x.rounds.ask(r)
	select {
	case err := <-r.done:
		return x.Status().Documents, err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// errAsked ends a round because a rebuild was asked for.
var errAsked = errors.New("a rebuild was asked for")

// request is a rebuild that was asked for.
type request struct {
	progress func(done, total int)
	done     chan error // has room for the answer
}

// rounds are the rebuilds that are asked for. A request, or damage, ends the round that is under way.
type rounds struct {
	mu    sync.Mutex
	asked []*request
	stop  context.CancelCauseFunc // ends the present round
	ended bool
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

// close answers the requests that no round has taken with ErrClosed.
func (r *rounds) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.stop != nil {
		r.stop(ErrClosed)
	}
	for _, q := range r.asked {
		q.done <- ErrClosed
	}
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

// runner is the goroutine of an index. It keeps what one round leaves for the next.
type runner struct {
	*Index
	open    *follower  // its engine is open; nil = none
	built   bool       // it was just built, in pieces
	damaged bool       // what lies in the folder must be replaced, not opened
	asked   []*request // that have no answer yet
}

// answer answers the requests for a rebuild.
func (r *runner) answer(err error) {
	for _, q := range r.asked {
		q.done <- err
	}
	r.asked = nil
}

// keep has one round after the other until ctx ends.
func (x *Index) keep(ctx context.Context) {
	r := &runner{Index: x}
	defer x.rounds.close()
	defer func() { r.answer(ErrClosed) }()
	defer func() { _ = r.stop() }() // what it has not written is in the log
	warned := false
	for ctx.Err() == nil {
		round, asked := x.rounds.next(ctx)
		r.asked = append(r.asked, asked...)
		err := r.round(round)
		if cause := context.Cause(round); cause != nil {
			err = cause
		}
		switch ready := r.open != nil; {
		case ctx.Err() != nil, errors.Is(err, errAsked):
		case errors.Is(err, errBroken) && ready:
			x.Logger.Warn("the search index is rebuilt", "reason", errors.Join(err, r.stop()))
			r.damaged = true
		default:
			err = errors.Join(err, r.stop())
			r.answer(err)
			if !warned || ready {
				x.Logger.Warn("the search index cannot be used; searches look at every record", "error", err)
			}
			warned = true
			pause(round, x.Retry)
		}
	}
}

// round makes the index usable and follows the log until ctx ends or something is wrong. An index that is open stays open.
func (r *runner) round(ctx context.Context) error {
	if r.open != nil && r.serving.Load() != r.open {
		return errBroken // a search has failed between two rounds
	}
	if len(r.asked) > 0 || r.damaged {
		if err := r.rebuild(ctx); err != nil {
			if r.open == nil || ctx.Err() != nil {
				return err
			}
			r.Logger.Warn("the search index cannot be rebuilt; the old one stays in use", "error", err)
			r.answer(err)
		}
	}
	if r.open == nil {
		if err := r.start(ctx); err != nil {
			return err
		}
	}
	r.answer(nil)
	r.news.Ring()
	return r.follow(ctx)
}

// start opens the index in the folder. If there is none, or it is damaged or another store's, start builds a new one first.
func (r *runner) start(ctx context.Context) error {
	switch err := r.resume(ctx); {
	case errors.Is(err, errBroken):
		r.Logger.Warn("the search index is rebuilt", "reason", err)
	case errors.Is(err, errOther):
		r.Logger.Info("the search index is built: the one before was another store's, as after a restore")
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := r.rebuild(ctx); err != nil {
		return err
	}
	return r.resume(ctx)
}

// resume opens the index in the folder, brings it to the end of the log and lets searches use it.
func (r *runner) resume(ctx context.Context) error {
	e, err := r.folder.open()
	if err != nil {
		return err
	}
	f := newFollower(e, &r.Config, r.kinds)
	r.preparing.Store(f)
	defer r.preparing.Store(nil)
	if err := f.prepare(ctx); err != nil {
		return errors.Join(err, e.close())
	}
	r.open = f
	r.serving.Store(f)
	if err := r.folder.tidy(); err != nil {
		r.Logger.Warn("an old search index cannot be removed", "error", err)
	}
	return nil
}

// rebuild builds a new index beside the one in the folder and puts it in its place. Searches use the old one until the new one is built.
func (r *runner) rebuild(ctx context.Context) error {
	r.metrics.rebuilds.Inc()
	if err := r.build(ctx); err != nil {
		return errors.Join(err, os.RemoveAll(r.folder.beside()))
	}
	if err := r.stop(); err != nil {
		r.Logger.Warn("the old search index cannot be closed", "error", err)
	}
	if err := r.folder.swap(); err != nil {
		return err
	}
	r.built, r.damaged = true, false
	return nil
}

// build writes a whole index beside the one in the folder. When it returns nil, the new index is on disk and closed.
func (r *runner) build(ctx context.Context) (err error) {
	e, err := r.folder.begin()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	f := newFollower(e, &r.Config, r.kinds)
	r.preparing.Store(f)
	defer r.preparing.Store(nil)
	total, err := f.total()
	if err != nil {
		return err
	}
	_, err = f.catchUp(ctx, func(int) {
		for _, q := range r.asked {
			q.progress(int(f.documents.Load()), max(total, int(f.documents.Load())))
		}
	})
	if err != nil {
		return err
	}
	return errors.Join(e.persist(ctx, bleve.NewBatch()), ctx.Err())
}

// follow brings the changes of the log into the open index, and looks after its files, until ctx ends or something is wrong.
func (r *runner) follow(ctx context.Context) error {
	f := r.open
	k := keeper{engine: f.engine, store: r.Store, after: r.Sweep, compact: r.built}
	r.built = false
	var helpers sync.WaitGroup
	defer helpers.Wait()
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	return f.live(ctx, r.news.Ring, func() error {
		r.metrics.success.SetToCurrentTime()
		forgot := false
		if err := guarded(func() (err error) { forgot, err = f.forget(); return err }); err != nil {
			return err
		}
		return k.chore(within, &helpers, forgot)
	})
}

// stop closes the open index. Searches look at every record until another one is open.
func (r *runner) stop() error {
	f := r.open
	if f == nil {
		return nil
	}
	r.open = nil
	r.serving.Store(nil)
	return f.engine.close()
}
