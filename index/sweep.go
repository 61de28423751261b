package index

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	bleve "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"doorward/kv"
	"doorward/kv/disk"
	"doorward/kv/record"
)

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
	if now.Before(k.rest) || now.Sub(k.since) < wait || k.store.Tables.Folder.Room.Check(disk.Imports) != nil {
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

// sweepID is the document of no record that a sweep writes: bleve merges two segments or more, and one may hold everything.
const sweepID = "\x00sweep"

const (
	sweepRounds = 20                     // how often a sweep looks whether what it wants gone is gone
	sweepPause  = 100 * time.Millisecond // how long it waits in between
)

// dirty tells whether a file of the index may hold what was deleted: a segment with deleted documents, or a file that no longer
// belongs to the index.
func (e *engine) dirty() (bool, error) {
	snap, err := e.snapshot()
	if err != nil {
		return false, err
	}
	defer snap.Close()
	for _, s := range snap.Segments() {
		if gone := s.Deleted(); gone != nil && !gone.IsEmpty() {
			return true, nil
		}
	}
	left, err := e.left(snap)
	return len(left) > 0, err
}

// left are the segments' files that no longer belong to the index.
func (e *engine) left(snap *scorch.IndexSnapshot) (names []string, err error) {
	used := map[string]bool{}
	for _, s := range snap.Segments() {
		if file, ok := s.Segment().(segment.PersistedSegment); ok {
			used[filepath.Base(file.Path())] = true
		}
	}
	entries, err := os.ReadDir(e.dir)
	for _, entry := range entries {
		if name := entry.Name(); filepath.Ext(name) == ".zap" && !used[name] {
			names = append(names, name)
		}
	}
	return names, broken(err)
}

// segments is how many pieces a search asks.
func (e *engine) segments() int {
	snap, err := e.snapshot()
	if err != nil {
		return 0 // the search reports the error itself
	}
	defer snap.Close()
	return len(snap.Segments())
}

// sweep writes all segments into one new segment, without the deleted documents, and waits until the old files are removed. It returns
// how long the writing took.
func (e *engine) sweep(ctx context.Context) (took time.Duration, err error) {
	b := bleve.NewBatch()
	b.Update(&document{sweepID, []*field{named(sweepID)}})
	if err := e.persist(ctx, b); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := e.merge(ctx); err != nil {
		return 0, err
	}
	took = time.Since(start)
	snap, err := e.snapshot()
	if err != nil {
		return took, err
	}
	old, err := e.left(snap)
	if err := errors.Join(err, snap.Close()); err != nil {
		return took, err
	}
	return took, e.forget(ctx, old)
}

// forget waits until files are gone. Bleve removes them after it has written its file of segments, which it does after a batch.
func (e *engine) forget(ctx context.Context, old []string) error {
	isGone := func(name string) bool {
		_, err := os.Lstat(filepath.Join(e.dir, name))
		return errors.Is(err, fs.ErrNotExist)
	}
	for range sweepRounds {
		if old = slices.DeleteFunc(old, isGone); len(old) == 0 || ctx.Err() != nil {
			return nil
		}
		if err := e.persist(ctx, bleve.NewBatch()); err != nil {
			return err
		}
		pause(ctx, sweepPause)
	}
	return nil // the next sweep finds them
}

// merge makes all segments one.
func (e *engine) merge(ctx context.Context) error {
	options := mergeplan.SingleSegmentMergePlanOptions
	options.SegmentsPerMergeTask = 1000 // at once
	return e.await(ctx, started(func() error { return e.scorch.ForceMerge(ctx, &options) }))
}

// persist applies a batch and waits until it is on disk.
func (e *engine) persist(ctx context.Context, b *bleve.Batch) error {
	done := make(chan error, 1)
	b.SetPersistedCallback(func(err error) { done <- err })
	if err := e.write(b); err != nil {
		return err
	}
	return e.await(ctx, done)
}

// await waits for bleve's own goroutines, which may be none any more: errBroken then, and nil when ctx ends.
func (e *engine) await(ctx context.Context, done <-chan error) error {
	poll := time.NewTicker(failurePoll)
	defer poll.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return nil
		case <-poll.C:
			if e.failed() {
				return errBroken
			}
		}
	}
}

// documentIDs are the ids of all documents that are a record.
func (e *engine) documentIDs() (ids []string, err error) {
	snap, err := e.snapshot()
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	for _, s := range snap.Segments() {
		some, err := liveIDs(s)
		if err != nil {
			return nil, err
		}
		ids = append(ids, some...)
	}
	return ids, nil
}

func liveIDs(s *scorch.SegmentSnapshot) (ids []string, err error) {
	for docs := s.DocNumbersLive().Iterator(); docs.HasNext(); {
		id, err := s.DocID(uint64(docs.Next()))
		if err != nil {
			return nil, err
		}
		if string(id) != sweepID {
			ids = append(ids, string(id))
		}
	}
	return ids, nil
}

// count is how many documents of some kinds there are.
func (e *engine) count(kinds []*record.Kind) (n int64, err error) {
	snap, err := e.snapshot()
	if err != nil {
		return 0, err
	}
	defer snap.Close()
	for _, p := range parts(snap) {
		for _, k := range kinds {
			all, err := p.having(homeField, kindTerm(k))
			if err != nil {
				return 0, err
			}
			n += int64(all.GetCardinality())
			if gone := p.Deleted(); gone != nil {
				n -= int64(all.AndCardinality(gone))
			}
		}
	}
	return n, nil
}
