package index

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve_index_api"
)

// errBroken means that the index itself is damaged. A new one replaces it.
var errBroken = errors.New("the search index is damaged")

// broken wraps an error as errBroken.
func broken(err error) error {
	if err == nil || errors.Is(err, errBroken) {
		return err
	}
	return fmt.Errorf("%w: %w", errBroken, err)
}

// engine is one open index of bleve, and what is remembered of its segments.
type engine struct {
	dir     string
	scorch  *scorch.Scorch
	stats   *scorch.Stats
	queue   *bleve.AnalysisQueue
	tables  tables
	skipped atomic.Pointer[skip]
}

// skip says that the changes after from, up to upto, are none that an index keeps: an index that is at from is at upto.
type skip struct{ from, upto uint64 }

// napTime is how long bleve gathers batches before it writes them to disk together. What a crash takes is replayed.
const napTime = 500 // milliseconds

// openEngine opens the index in a folder, or makes it. Batches are answered before they are on disk: each carries its own
// cursor, so that what lies on disk is always a whole number of them.
func openEngine(dir string, readOnly bool) (*engine, error) {
	queue := bleve.NewAnalysisQueue(runtime.GOMAXPROCS(0))
	x, err := scorch.NewScorch(scorch.Name, map[string]any{
		"path": dir, "read_only": readOnly, "unsafe_batch": true, "numSnapshotsToKeep": 1, "bolt_timeout": "2s",
		"scorchPersisterOptions": map[string]any{"PersisterNapTimeMSec": napTime, "PersisterNapUnderNumFiles": 1000},
		"scorchMergePlanOptions": map[string]any{"MaxSegmentsPerTier": 3}, // a search asks each segment
	}, queue)
	if err == nil {
		err = x.Open()
	}
	if err != nil {
		queue.Close()
		return nil, err
	}
	s := x.(*scorch.Scorch)
	return &engine{dir: dir, scorch: s, stats: s.Stats().(*scorch.Stats), queue: queue}, nil
}

// closePatience bounds the wait for bleve's own goroutines, which a broken index may have lost.
const closePatience = 10 * time.Second

func (e *engine) close() error {
	closed := make(chan error, 1)
	go func() { closed <- guarded(e.scorch.Close) }()
	defer e.queue.Close()
	select {
	case err := <-closed:
		return err
	case <-time.After(closePatience):
		return fmt.Errorf("close %s: %w", filepath.Base(e.dir), errBroken)
	}
}

// failed reports whether bleve's own goroutines have failed. Bleve only counts these failures.
func (e *engine) failed() bool { return atomic.LoadUint64(&e.stats.TotOnErrors) > 0 }

// failurePoll is how often a wait for bleve checks that bleve has not failed.
const failurePoll = 250 * time.Millisecond

// write applies a batch. A batch that fails, or that bleve does not take, means that the index is broken.
func (e *engine) write(b *bleve.Batch) error {
	applied := make(chan error, 1)
	go func() { applied <- guarded(func() error { return e.scorch.Batch(b) }) }()
	return broken(e.await(context.Background(), applied))
}

// snapshot returns the index as it is now. The caller closes it.
func (e *engine) snapshot() (*scorch.IndexSnapshot, error) {
	r, err := e.scorch.Reader()
	if err != nil {
		return nil, err
	}
	if snap, ok := r.(*scorch.IndexSnapshot); ok && snap != nil {
		return snap, nil
	}
	return nil, errBroken // closed
}
