package archive

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/disk"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// TestARestoreTakesNoPlaceUnseen: a store stays that is locked while the backup's congregation is compared with its own, is not in the folder
// itself, or was made while the backup was being copied.
func TestARestoreTakesNoPlaceUnseen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		replace bool
		before  func(t *testing.T, dir string)
		want    string
	}{
		// By another doorward, for longer than one waits. On a busy machine it may be seen in time to be another congregation's.
		{"locked", true, func(t *testing.T, dir string) { lockFor(t, table.Path(dir), 3*time.Second) }, "another "},
		{"a link", true, func(t *testing.T, dir string) {
			elsewhere := filepath.Join(t.TempDir(), "elsewhere.db")
			if err := errors.Join(os.Rename(table.Path(dir), elsewhere), os.Symlink(elsewhere, table.Path(dir))); err != nil {
				t.Fatal(err)
			}
		}, "no regular file"},
		{"another congregation's", true, func(*testing.T, string) {}, "of another congregation"},
		{"made since", false, func(*testing.T, string) {}, "holds a congregation"},
		{"made since and served", false, func(t *testing.T, dir string) {
			(&asked{T: t, data: dir, then: "waits", heard: func() { t.Error("the server is asked to take the backup") }}).serve()
		}, "holds a congregation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := opening(t.TempDir())
			churchIn(t, o.Dir)
			dir, next := restoredIn(t, opening(t.TempDir()))
			was, err := os.Stat(table.Path(o.Dir))
			if err != nil {
				t.Fatal(err)
			}
			c.before(t, o.Dir)
			ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
			defer stop()
			if kept, err := place(ctx, o, dir, placing{next, c.replace}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("restore = %q, %v, want %q", kept, err, c.want)
			}
			if after, err := os.Stat(table.Path(o.Dir)); err != nil || !os.SameFile(was, after) {
				t.Errorf("another file is in the store's place: %v", err)
			}
		})
	}
}

// TestAWipeKeepsWhatMayNotBeAtTheCentre: a replaced store that names no centre stays, and so do one that cannot be read and a log that was set aside. What
// a laptop has sent goes: script restored_unsent.
func TestAWipeKeepsWhatMayNotBeAtTheCentre(t *testing.T) {
	t.Parallel()
	o := opening(t.TempDir())
	churchIn(t, o.Dir)
	store, err := os.ReadFile(table.Path(o.Dir))
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(o.Dir, name) }
	const alone, unread, log = "doorward-20261126T100000Z.db", "doorward-20261126T100000Z-2.db", "doorward-20261126T100000Z.log"
	err = errors.Join(os.WriteFile(at(alone), store, 0o600), os.WriteFile(at(unread), bytes.Repeat([]byte("?"), len(store)), 0o600), os.Mkdir(at(log), 0o700),
		os.WriteFile(filepath.Join(at(log), "segment"), store, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := Wipe(t.Context(), o.Folder)
	if want := []string{unread, alone, log}; err != nil || !slices.Equal(kept, want) {
		t.Errorf("Wipe = %q, %v, want %q", kept, err, want)
	}
	var left []string
	entries, err := os.ReadDir(o.Dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if err != nil || !slices.Equal(left, kept) {
		t.Errorf("in the folder are %q, %v", left, err)
	}
}

// churchIn makes a store that holds something.
func churchIn(t *testing.T, dir string) {
	t.Helper()
	s, err := kv.Open(kv.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	kvtest.Create(t, s, record.Church, `{"name":"Central"}`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// lockFor keeps the lock of a store for so long, as another process does.
func lockFor(t *testing.T, path string, d time.Duration) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		err = disk.Lock(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	unlocked := make(chan error)
	go func() {
		time.Sleep(d)
		unlocked <- f.Close()
	}()
	t.Cleanup(func() {
		if err := <-unlocked; err != nil {
			t.Error(err)
		}
	})
}
