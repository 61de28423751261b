package engine_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"doorward/kv/engine"
	"doorward/kv/kvtest/disk"
)

// TestAnOpeningConfirmsWhatItReads: the last sync of a fold fails, so its mark may be in memory alone. The store is opened again, and uses the segments
// that the mark lets go of, or erases them. Then the power is cut, and the disk has nothing that was not synced.
func TestAnOpeningConfirmsWhatItReads(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(context.Background())
	end()
	for fails := int64(1); fails <= 3; fails++ {
		for name, next := range map[string]func(db *engine.DB, put func(string, int)){
			"uses":   func(_ *engine.DB, put func(string, int)) { put("third", 140) },
			"erases": func(db *engine.DB, _ func(string, int)) { _ = db.Rewrite(ended, func(*engine.Tx) {}) },
		} {
			t.Run(fmt.Sprintf("%s, sync %d", name, fails), func(t *testing.T) {
				t.Parallel()
				confirms(t, fails, next)
			})
		}
	}
}

// confirms cuts the power after a sync of a fold has failed, the store was opened again, and next was done with it.
func confirms(t *testing.T, fails int64, next func(db *engine.DB, put func(name string, n int))) {
	t.Helper()
	var syncs atomic.Int64 // of the file, once they are counted
	counted := int64(-1 << 32)
	syncs.Store(counted)
	d := disk.New(disk.Config{Sync: func(path string) error {
		if path == "a.db" && syncs.Add(1) == fails {
			return syscall.EIO
		}
		return nil
	}})
	dir, unmount := d.MountFor(t)
	answered := map[string]bool{}
	open := func() *engine.DB {
		db, err := engine.Open(playConfig(dir))
		if err != nil {
			t.Fatal(err)
		}
		db.Start(engine.Hooks{})
		return db
	}
	var db *engine.DB
	put := func(name string, n int) {
		for i := range n {
			key := fmt.Sprintf("%s%03d", name, i)
			if db.Do(true, func(tx *engine.Tx) error { tx.Put(one, []byte(key), make([]byte, 50_000)); return nil }) == nil {
				answered[key] = true
			}
		}
	}
	db = open()
	put("first", 40)
	if err := db.Fold(); err != nil {
		t.Fatal(err)
	}
	put("second", 40)
	time.Sleep(1200 * time.Millisecond) // no door was served for so long: the fold is one transaction
	syncs.Store(0)
	_ = db.Fold() // it may fail, and then the store stops
	syncs.Store(counted)
	_ = db.Close()
	db = open()
	next(db, put)
	m := d.Medium() // the power is cut
	m.Advance(m.Length())
	image := filepath.Join(t.TempDir(), "image")
	if err := m.Draw(disk.Nothing()).Write(image); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	unmount()
	db, err := engine.Open(playConfig(image))
	if err != nil {
		t.Fatalf("sync %d of the fold fails, and after the power cut %v", fails, err)
	}
	err = db.View(func(v *engine.View) error {
		for key := range answered {
			if value, err := v.Get(one, []byte(key)); err != nil || value == nil {
				t.Errorf("sync %d of the fold fails: %s is lost, %v", fails, key, err)
			}
		}
		return nil
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Error(err)
	}
}
