package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestWhatACrashLeavesGoes: copies of the store that nobody works at any more go when a server or a backup begins, all of them with a wipe. What a
// person has put there stays, whatever its name.
func TestWhatACrashLeavesGoes(t *testing.T) {
	const cut, young, heir = ".doorward-backup-12", ".doorward-backup-56", ".doorward-restore-34"
	dir := t.TempDir()
	for _, name := range []string{
		cut + "/doorward.db", young + "/doorward.db", heir + "/doorward.db", heir + "/.doorward-5", "compact.db", ".doorward-7", "doorward-20260101T000000Z.db",
		"backup-2026-11-20.db", "backup-20261120", "restore-20261120", "new-20261120.db", "doorward-monday.db", "indexed.txt",
		"backup-12/doorward.db", "restore-56/doorward.db", "restore-20261122/doorward.db",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * abandoned)
	for _, e := range all {
		if err := os.Chtimes(filepath.Join(dir, e.Name()), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(dir, young), time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	tidy(dir, log)
	gone := []string{cut, heir, ".doorward-7"}
	lacksOnly(t, "a beginning", dir, all, gone)
	if err := wipe(dir, log); err != nil {
		t.Fatal(err)
	}
	lacksOnly(t, "a wipe", dir, all, append(gone, young, "compact.db", "doorward-20260101T000000Z.db"))
}

// lacksOnly wants all of a folder's names to be there but for those that are gone.
func lacksOnly(t *testing.T, after, dir string, all []os.DirEntry, gone []string) {
	t.Helper()
	for _, e := range all {
		_, err := os.Lstat(filepath.Join(dir, e.Name()))
		if want := !slices.Contains(gone, e.Name()); (err == nil) != want {
			t.Errorf("after %s: %s is there: %t, want %t", after, e.Name(), !want, want)
		}
	}
}

// TestACopyStaysWhileItIsWorkedAt: however long that takes, whatever else begins. What one that was killed has left goes then.
func TestACopyStaysWhileItIsWorkedAt(t *testing.T) {
	set, m := &settings{data: filepath.Join(t.TempDir(), "d"), zone: time.UTC}, &Main{Stderr: io.Discard, Env: func(string) (string, bool) { return "", false }}
	if code, _, errs := run(t.Context(), nil, "demo", "--data", set.data); code != exitDone {
		t.Fatalf("demo = %d: %s", code, errs)
	}
	left := filepath.Join(set.data, ".doorward-backup-1")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * time.Minute)
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	err := m.onCopy(t.Context(), set, func(dir string, _ manifest) error {
		if exists(left) {
			t.Error("a backup begins, and what another has left stays")
		}
		err := os.Chtimes(dir, old, old)
		if tidy(set.data, slog.New(slog.DiscardHandler)); !exists(dir) {
			t.Error("a copy that is worked at is taken away")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
