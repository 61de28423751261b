package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestWhatACrashLeavesGoes: copies of the store that nobody works at any more go when a server starts, all of them with a wipe.
func TestWhatACrashLeavesGoes(t *testing.T) {
	dir := t.TempDir()
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	old := time.Now().Add(-2 * abandoned)
	for _, name := range []string{"backup-12", "restore-34", "backup-56", "backup-monday"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if name != "backup-56" {
			if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"compact.db", ".doorward-7", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	tidy(dir, time.Now().Add(-abandoned), log)
	for name, want := range map[string]bool{"backup-12": false, "restore-34": false, "backup-56": true, "backup-monday": true, "compact.db": true} {
		if has(name) != want {
			t.Errorf("after a start: %s is there: %t, want %t", name, !want, want)
		}
	}
	if err := wipe(dir, log); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"backup-56": false, "compact.db": false, ".doorward-7": false, "notes.txt": true} {
		if has(name) != want {
			t.Errorf("after a wipe: %s is there: %t, want %t", name, !want, want)
		}
	}
}
