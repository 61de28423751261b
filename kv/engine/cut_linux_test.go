package engine_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"doorward/kv/engine"
	"doorward/kv/kvtest/disk"
)

// TestACutThatCannotBeSyncedStopsTheStore, though the error is one of a full disk: whether the disk has the new segment is not known, and a record behind the
// one before it would not be read.
func TestACutThatCannotBeSyncedStopsTheStore(t *testing.T) {
	const header = 2 // the first sync is that of the zeros
	var armed atomic.Bool
	var syncs atomic.Int64
	d := disk.New(disk.Config{Sync: func(path string) error {
		if armed.Load() && strings.HasSuffix(path, ".seg") && syncs.Add(1) == header {
			return syscall.ENOSPC
		}
		return nil
	}})
	dir, unmount := d.MountFor(t)
	defer unmount()
	db, err := engine.Open(playConfig(dir))
	if err != nil {
		t.Fatal(err)
	}
	db.Start(engine.Hooks{})
	put := func() error {
		return db.Do(true, func(tx *engine.Tx) error { tx.Put(one, []byte("key"), nil); return nil })
	}
	if err := errors.Join(put(), db.Fold()); err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	err = db.Rewrite(t.Context(), func(*engine.Tx) {})
	if after := put(); err == nil || syncs.Load() < header || !errors.Is(after, engine.ErrStopped) {
		t.Errorf("a cut that is not synced: %v after %d syncs, and a change afterwards: %v", err, syncs.Load(), after)
	}
	_ = db.Close()
}
