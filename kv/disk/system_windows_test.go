package disk

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestAnOpenFileIsReplaced: the file that was open is read until it is closed, and is removed then. A crash in between leaves one of the two.
func TestAnOpenFileIsReplaced(t *testing.T) {
	dir := t.TempDir()
	path, next := filepath.Join(dir, "store"), filepath.Join(dir, "next")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(want string) {
		t.Helper()
		if text, err := os.ReadFile(path); string(text) != want {
			t.Errorf("the file holds %q, %v, want %q", text, err, want)
		}
	}
	write(path, "old")
	write(next, "new")
	f, err := OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		err = Replace(next, path)
	}
	if err != nil {
		t.Fatal(err)
	}
	holds("new")
	if text, err := io.ReadAll(f); string(text) != "old" {
		t.Errorf("the open file holds %q, %v", text, err)
	}
	if err := errors.Join(f.Close(), Replaced(path)); err != nil {
		t.Fatal(err)
	}
	holds("new")
	if err := os.Rename(path, aside(path)); err != nil { // as a crash leaves it
		t.Fatal(err)
	}
	if err := Replaced(path); err != nil {
		t.Fatal(err)
	}
	holds("new")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

// TestAFolderHasOneLock: a work folder that is in use is told from one that was left.
func TestAFolderHasOneLock(t *testing.T) {
	dir, done, err := MakeWorkFolder(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockFolder(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("a second lock: %v, want ErrInUse", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("the locked folder holds %v, %v", files, err)
	}
	if err := errors.Join(SyncDir(dir), done()); err != nil {
		t.Error(err)
	}
}
