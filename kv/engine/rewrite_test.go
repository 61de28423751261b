package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// TestAFileThatIsRewrittenNamesTheLogThatBeganMeanwhile: the first write after the store was opened comes between the last look at the old file and
// the change of names, and a kill follows.
func TestAFileThatIsRewrittenNamesTheLogThatBeganMeanwhile(t *testing.T) {
	dir := t.TempDir()
	c := Config{Path: filepath.Join(dir, "a.db"), Schema: &Schema{1: {Name: "one"}}}
	put := func(db *DB, key string) error {
		return db.Do(false, func(tx *Tx) error { tx.Put(1, []byte(key), []byte("kept")); return nil })
	}
	db := startedAt(t, c)
	if err := errors.Join(put(db, "before"), db.Close()); err != nil {
		t.Fatal(err)
	}
	db = startedAt(t, c) // it has no log yet
	r, old := db.rewriting, db.state.Load().file
	next, err := bbolt.Open(r.rewritten(), 0o600, options(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.copyAll(context.Background(), old, next, func(*Tx) {}); err != nil {
		t.Fatal(err)
	}
	r.folding.mu.Lock()
	carried, err := r.carryLast(old, next)
	if err != nil {
		t.Fatal(err)
	}
	if err := put(db, "meanwhile"); err != nil {
		t.Fatal(err)
	}
	_, itself, err := r.placeOf(old)
	if err == nil {
		err = r.rename(next, itself, carried)
	}
	r.folding.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	killed := t.TempDir()
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(old.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	c.Path = filepath.Join(killed, "a.db")
	again := startedAt(t, c)
	err = again.View(func(v *View) error {
		for _, key := range []string{"before", "meanwhile"} {
			if value, err := v.Get(1, []byte(key)); err != nil || string(value) != "kept" {
				t.Errorf("after the kill what was written %s is %q, %v", key, value, err)
			}
		}
		return nil
	})
	if err = errors.Join(err, again.Close()); err != nil {
		t.Fatal(err)
	}
}

// startedAt opens a file that is there, or a new one.
func startedAt(t *testing.T, c Config) *DB {
	t.Helper()
	db, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	db.Start(Hooks{})
	return db
}

// TestViewsEndWhileTheFileBeforeIsRead: after a rewriting a long View, such as a backup's, may stay on the old file, and keeps no other from its end.
func TestViewsEndWhileTheFileBeforeIsRead(t *testing.T) {
	db := opened(t)
	long, begun := make(chan struct{}), make(chan struct{}, 2)
	short, ended := make(chan struct{}), make(chan struct{})
	view := func(until chan struct{}) {
		_ = db.View(func(*View) error {
			begun <- struct{}{}
			<-until
			return nil
		})
	}
	go view(long)
	go func() {
		defer close(ended)
		view(short)
	}()
	<-begun
	<-begun
	old, rewritten := db.state.Load().file, make(chan error)
	go func() { rewritten <- db.Rewrite(t.Context(), func(*Tx) {}) }()
	for db.state.Load().file == old {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(4 * closePause) // the old file is being closed
	close(short)
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("a View does not end while another one reads the old file")
	}
	close(long)
	if err := <-rewritten; err != nil {
		t.Error(err)
	}
}

// TestNoRewritingBeginsAfterTheClose: its log's files have the names that the next opening gives its own.
func TestNoRewritingBeginsAfterTheClose(t *testing.T) {
	c := Config{Path: filepath.Join(t.TempDir(), "a.db"), Schema: &Schema{1: {Name: "one"}}}
	first := startedAt(t, c)
	put := func(db *DB) {
		for i := range byte(20) {
			if err := db.Do(true, func(tx *Tx) error { tx.Put(1, []byte{i}, make([]byte, 50_000)); return nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(first)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := startedAt(t, c)
	put(second)
	if err := first.Rewrite(t.Context(), func(*Tx) {}); !errors.Is(err, ErrStopped) {
		t.Errorf("rewriting what is closed = %v, want %v", err, ErrStopped)
	}
	if err := errors.Join(second.CheckLog(), second.Close()); err != nil {
		t.Error(err)
	}
}

// TestARewritingLeavesNoDeletedBytesInTheLog, in whatever segments they were when it began, and whether the writer rests or fills others of them between
// the cut and the fold.
func TestARewritingLeavesNoDeletedBytesInTheLog(t *testing.T) {
	for name, before := range map[string]func(*deletedRows){
		"in the segment that is written to": (*deletedRows).delete,
		"in segments that are folded":       func(d *deletedRows) { d.delete(); d.fold() },
		"in spare segments":                 func(d *deletedRows) { d.fold(); d.rotate(); d.delete(); d.fold() },
		"in segments after a kill":          func(d *deletedRows) { d.fold(); d.rotate(); d.delete(); d.fold(); d.killed() },
	} {
		for _, written := range []byte{0, 10, 30} {
			t.Run(fmt.Sprintf("%s, %d writes", name, written), func(t *testing.T) {
				d := &deletedRows{t, startedAt(t, Config{Path: filepath.Join(t.TempDir(), "a.db"), Schema: &Schema{1: {Name: "one"}}})}
				defer func() { d.must(d.Close()) }()
				for i := range byte(60) {
					d.put(i, bytes.Repeat([]byte("erased person "), 3000))
				}
				before(d)
				d.rewriteBeside(written)
				d.put(200, []byte("after"))
				segments, err := filepath.Glob(filepath.Join(logDir(d.path), "*"))
				d.must(err)
				for _, path := range append(segments, d.path) {
					b, err := os.ReadFile(path)
					d.must(err)
					if n := bytes.Count(b, []byte("erased person")); n > 0 {
						t.Errorf("%s has what was deleted %d times", filepath.Base(path), n)
					}
				}
			})
		}
	}
}

// deletedRows is an engine with rows that are deleted before it is rewritten.
type deletedRows struct {
	*testing.T
	*DB
}

func (d *deletedRows) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func (d *deletedRows) put(key byte, value []byte) {
	d.Helper()
	d.must(d.Do(true, func(tx *Tx) error { tx.Put(1, []byte{key}, value); return nil }))
}

func (d *deletedRows) delete() {
	d.must(d.Do(false, func(tx *Tx) error {
		for i := range byte(60) {
			tx.Delete(1, []byte{i})
		}
		return nil
	}))
}

func (d *deletedRows) fold() { d.must(d.DB.Fold()) }

func (d *deletedRows) rotate() { d.must(d.journal.cut()) }

// killed goes on with what a kill leaves of the folder.
func (d *deletedRows) killed() {
	dir := d.TempDir()
	d.must(os.CopyFS(dir, os.DirFS(filepath.Dir(d.path))))
	c := Config{Path: filepath.Join(dir, "a.db"), Schema: d.schema}
	d.must(d.Close())
	d.DB = startedAt(d.T, c)
}

// rewriteBeside rewrites the file. Between its cut and its fold some rows are written.
func (d *deletedRows) rewriteBeside(written byte) {
	d.folding.mu.Lock()
	ended, log := make(chan error), d.journal.wal.Load()
	live, _ := log.Segments()
	go func() { ended <- d.Rewrite(d.Context(), func(*Tx) {}) }()
	for now := live; now == live; now, _ = log.Segments() {
		time.Sleep(time.Millisecond)
	}
	for i := range written {
		d.put(100+i, make([]byte, 20_000))
	}
	d.folding.mu.Unlock()
	d.must(<-ended)
}

// TestRewritingsMakeNoMoreSegments: each finds segments to begin, although all were used since the one before.
func TestRewritingsMakeNoMoreSegments(t *testing.T) {
	const settled, rounds = 3, 5
	d, most := &deletedRows{t, startedAt(t, Config{Path: filepath.Join(t.TempDir(), "a.db"), Schema: &Schema{1: {Name: "one"}}})}, 0
	for round := range rounds {
		for i := range byte(6) {
			d.put(i%4, make([]byte, 3_500_000)) // it fills a segment
			if i%2 == 1 {
				d.fold()
			}
		}
		d.must(d.Rewrite(t.Context(), func(*Tx) {}))
		if n := d.Figures().Segments; round < settled {
			most = max(most, n)
		} else if n > most {
			t.Errorf("rewriting %d leaves %d segments, want at most the %d of those before", round, n, most)
		}
	}
	d.must(d.Close())
}
