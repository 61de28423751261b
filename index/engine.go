package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"doorward/kv/crash"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
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
	queue := bleve.NewAnalysisQueue(runtime.NumCPU())
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
	defer e.queue.Close()
	select {
	case err := <-started(e.scorch.Close):
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
	return broken(e.await(context.Background(), started(func() error { return e.scorch.Batch(b) })))
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

// folder is where an index of one mapping lies.
type folder struct {
	root string // of the indexes of all mappings
	name string
}

func (f folder) path() string { return filepath.Join(f.root, f.name) }

// beside is where a new index is built, until it replaces the one at path.
func (f folder) beside() string { return f.path() + ".new" }

// replaced is where the old index goes when a new one takes its place.
func (f folder) replaced() string { return f.path() + ".old" }

// marker is there while the index is being opened: found at the start, it says that opening it ended the process.
func (f folder) marker() string { return f.path() + ".opening" }

// boltFile is the file of bleve's that says which segments make up the index.
const boltFile = "root.bolt"

// open opens the index, after it has checked all its files. It returns fs.ErrNotExist if there is none, errBroken if it is damaged, and
// another error if the folder cannot be written.
func (f folder) open() (e *engine, err error) {
	if info, err := os.Lstat(f.root); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%w: %s is no folder", errBroken, filepath.Base(f.root))
	}
	if _, err := os.Lstat(f.path()); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(f.marker()); err == nil {
		return nil, fmt.Errorf("%w: it was being opened when the process ended", errBroken)
	}
	if err := os.WriteFile(f.marker(), nil, 0o600); err != nil {
		return nil, err
	}
	err = guarded(func() (err error) {
		if err = f.inspect(); err == nil {
			e, err = openEngine(f.path(), false)
		}
		return err
	})
	return e, errors.Join(err, os.Remove(f.marker()))
}

// guarded runs fn as started does, and waits for its end.
func guarded(fn func() error) error { return <-started(fn) }

// started runs fn on a goroutine of its own, where a fault of memory or a panic of a library is an error: a file that was cut
// short is read beyond its end.
func started(fn func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		debug.SetPanicOnFault(true)
		defer func() {
			if found := recover(); found != nil {
				done <- fmt.Errorf("%w: %v", errBroken, found)
			}
		}()
		done <- fn()
	}()
	return done
}

// inspect looks at an index before it is used: that its file of segments can be read, that each segment has the checksum that
// it ends with, and that it has a cursor. Then it writes the file of segments again: bleve's goroutines read that file,
// and there a page that is damaged would end the process.
func (f folder) inspect() error {
	if _, err := os.Stat(filepath.Join(f.path(), boltFile)); err != nil {
		return broken(err)
	}
	e, err := openEngine(f.path(), true)
	if err != nil {
		return broken(err)
	}
	if err := errors.Join(f.check(e), e.close()); err != nil {
		return err
	}
	return os.Rename(filepath.Join(f.path(), copied), filepath.Join(f.path(), boltFile))
}

// copied is the temporary name of the file of segments that replaces the old one.
const copied = boltFile + ".new"

func (f folder) check(e *engine) error {
	snap, err := e.snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	if _, err := readCursor(snap); err != nil {
		return err
	}
	for _, s := range snap.Segments() {
		file, ok := s.Segment().(segment.PersistedSegment)
		if !ok {
			return errBroken
		}
		if err := checkSum(file.Path()); err != nil {
			return err
		}
	}
	return f.copyBolt(snap)
}

// checkSum compares a segment's file with the checksum that it ends with.
func checkSum(path string) error {
	file, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	cut := len(file) - crc32.Size
	if cut < 0 || crc32.ChecksumIEEE(file[:cut]) != binary.BigEndian.Uint32(file[cut:]) {
		return fmt.Errorf("%w: a segment fails its checksum", errBroken)
	}
	return nil
}

// copyBolt writes a snapshot's file of segments beside the old one.
func (f folder) copyBolt(snap *scorch.IndexSnapshot) error {
	path := filepath.Join(f.path(), copied)
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return snap.CopyTo(boltOnly(path))
}

// boltOnly takes of a copied index only the file of segments, at a path.
type boltOnly string

// GetWriter is where bleve writes a file of the copy; nil = nowhere.
func (b boltOnly) GetWriter(name string) (io.WriteCloser, error) {
	if filepath.Base(name) != boltFile {
		return nil, nil
	}
	return os.OpenFile(string(b), os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
}

// begin makes an empty index beside the present one.
func (f folder) begin() (*engine, error) {
	if info, err := os.Lstat(f.root); err == nil && !info.IsDir() {
		if err := os.Remove(f.root); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(f.root, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err // the folder above is the store's: where it was moved away, none is made in its place
	}
	if err := os.RemoveAll(f.beside()); err != nil {
		return nil, err
	}
	return openEngine(f.beside(), false)
}

// swap puts the index that was built beside in the place of the present one. A process that ends within it leaves the old index, the
// new one, or none.
func (f folder) swap() error {
	if err := os.RemoveAll(f.replaced()); err != nil {
		return err
	}
	crash.At(crash.BeforeAside)
	if err := os.Rename(f.path(), f.replaced()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	crash.At(crash.AfterAside)
	if err := os.Remove(f.marker()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(f.beside(), f.path())
}

// tidy removes all but the present index: the index that it replaced, one that was not finished, those of other mappings.
func (f folder) tidy() error {
	entries, err := os.ReadDir(f.root)
	for _, entry := range entries {
		if entry.Name() != f.name {
			err = errors.Join(err, os.RemoveAll(filepath.Join(f.root, entry.Name())))
		}
	}
	return err
}
