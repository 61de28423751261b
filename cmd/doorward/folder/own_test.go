package folder

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestWhatACrashLeavesGoes: copies of the store that no process works at any more go when a server or a backup begins, all of them with a wipe. What a
// person has put there stays, whatever its name.
func TestWhatACrashLeavesGoes(t *testing.T) {
	const cut, young, heir = ".doorward-backup-12", ".doorward-backup-56", ".doorward-restore-34"
	dir := t.TempDir()
	for _, name := range []string{
		cut + "/doorward.db", young + "/doorward.db", heir + "/doorward.db", heir + "/.doorward-5", "compact.db", Authority, ".doorward-7", "doorward-20260101T000000Z.db",
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
	Tidy(dir, log)
	gone := []string{cut, heir, ".doorward-7"}
	lacksOnly(t, "a beginning", dir, all, gone)
	if err := Clear(dir); err != nil {
		t.Fatal(err)
	}
	lacksOnly(t, "a wipe", dir, all, append(gone, young, "compact.db", Authority, "doorward-20260101T000000Z.db"))
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
