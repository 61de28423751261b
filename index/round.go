package index

import (
	"context"
	"errors"
	"sync"
	"time"

	bleve "github.com/blevesearch/bleve_index_api"

	"doorward/kv"
)

// round opens what lies in the folder, or builds it, and follows the log until ctx ends or something is wrong. Ready tells
// whether the index has answered searches.
func (x *Index) round(ctx context.Context, asked []*request) (ready bool, err error) {
	if len(asked) > 0 {
		if err := x.folder.setAside(); err != nil {
			return false, err
		}
	}
	e, fresh, err := x.folder.open()
	if err != nil {
		return false, err
	}
	var helpers sync.WaitGroup
	defer func() {
		x.serving.Store(nil)
		x.rounds.current.Store(nil)
		helpers.Wait()
		err = errors.Join(err, e.close())
	}()
	f := newFollower(e, x.Store, x.from)
	x.rounds.current.Store(f)
	if err := x.prepare(ctx, f, fresh, asked); err != nil {
		return false, err
	}
	if fresh { // the process may end at once: what was built must not go with it
		if err := e.persist(ctx, bleve.NewBatch()); err != nil {
			return false, err
		}
	}
	x.serving.Store(f)
	answer(asked, nil)
	x.rounds.tell()
	if err := x.folder.tidy(); err != nil {
		x.Logger.Warn("an old search index cannot be removed", "error", err)
	}
	k := keeper{engine: e, store: x.Store, after: x.Sweep, compact: fresh}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	return true, f.live(ctx, x.rounds.tell, func() error {
		x.metrics.success.SetToCurrentTime()
		forgot := false
		if err := guarded(func() (err error) { forgot, err = f.forget(); return err }); err != nil {
			return err
		}
		return k.chore(within, &helpers, forgot)
	})
}

// prepare brings an index to the end of the log.
func (x *Index) prepare(ctx context.Context, f *follower, fresh bool, asked []*request) error {
	if fresh {
		x.metrics.rebuilds.Inc()
	} else if err := f.resume(); err != nil {
		return err
	}
	total, err := f.total()
	if err != nil {
		return err
	}
	err = f.catchUp(ctx, func() {
		for _, q := range asked {
			q.progress(int(f.documents.Load()), max(total, int(f.documents.Load())))
		}
	})
	if err != nil && (fresh || !errors.Is(err, kv.ErrDiskFull)) {
		return err
	}
	if !fresh {
		if err := guarded(f.compare); err != nil {
			return err
		}
	}
	return errors.Join(f.count(), guarded(f.engine.warm))
}

const (
	fewSegments = 8                // with more of them searches, which ask one after the other, get slow
	crowdedWait = 10 * time.Second // that long bleve may make fewer of them by itself
	sweepShare  = 20               // how many times as long as a sweep took there is none
)

// keeper looks after the files of an index while it is live.
type keeper struct {
	engine  *engine
	store   *kv.Store
	after   time.Duration // how long what was deleted may stay
	compact bool          // it has just been built, in pieces
	forgot  bool          // what the store has released was deleted since the last sweep began
	since   time.Time     // when there was first something to sweep; zero = there is nothing
	rest    time.Time     // no sweep before
	busy    chan error    // of the sweep under way
}

// chore starts a sweep where one is due, and reports what went wrong in the last one, or in bleve. What the store has released is swept at
// once, but not while there is more of it each time.
func (k *keeper) chore(ctx context.Context, helpers *sync.WaitGroup, forgot bool) error {
	if k.engine.failed() {
		return errBroken
	}
	k.forgot = k.forgot || forgot
	select {
	case err := <-k.busy:
		k.busy, k.compact, k.since = nil, false, time.Time{}
		return err
	default:
	}
	if err := k.engine.warm(); err != nil {
		return err
	}
	dirty, err := k.engine.dirty()
	if err != nil || k.busy != nil {
		return err
	}
	now, wait := time.Now(), k.after
	switch crowded := k.engine.segments() > fewSegments; {
	case k.compact, k.forgot && dirty && !forgot:
		wait = 0
	case crowded:
		wait = min(wait, crowdedWait)
	case !dirty:
		k.since, k.forgot = time.Time{}, false
		return nil
	}
	if k.since.IsZero() {
		k.since = now
	}
	if now.Before(k.rest) || now.Sub(k.since) < wait || k.store.Room(kv.Imports) != nil {
		return nil
	}
	busy := make(chan error, 1)
	k.busy, k.forgot = busy, false
	helpers.Go(func() {
		took, err := k.engine.sweep(ctx)
		k.rest = time.Now().Add(sweepShare * took) // read only after busy has been
		busy <- err
	})
	return nil
}
