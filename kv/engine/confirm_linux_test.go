package engine_test

import (
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
// that the mark lets go of. Then the power is cut, and the disk has nothing that was not synced.
func TestAnOpeningConfirmsWhatItReads(t *testing.T) {
	for fails := int64(1); fails <= 3; fails++ {
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
		put := func(db *engine.DB, name string, n int) {
			for i := range n {
				key := fmt.Sprintf("%s%03d", name, i)
				if db.Do(true, func(tx *engine.Tx) error { tx.Put(one, []byte(key), make([]byte, 50_000)); return nil }) == nil {
					answered[key] = true
				}
			}
		}
		db := open()
		put(db, "first", 40)
		if err := db.Fold(); err != nil {
			t.Fatal(err)
		}
		put(db, "second", 40)
		time.Sleep(1200 * time.Millisecond) // no door was served for so long: the fold is one transaction
		syncs.Store(0)
		_ = db.Fold() // it may fail, and then the store stops
		syncs.Store(counted)
		_ = db.Close()
		db = open()
		put(db, "third", 140)
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
}
