package engine

import (
	"context"
	"errors"
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
