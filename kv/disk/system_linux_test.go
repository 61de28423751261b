package disk

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// large makes a file that is freed in pieces.
func large(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(path, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, leavingFrom); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestALargeFileIsFreedInPieces, whichever way it loses its name.
func TestALargeFileIsFreedInPieces(t *testing.T) {
	for name, remove := range map[string]func(path string) error{
		"removed":         Remove,
		"with its folder": func(path string) error { return RemoveAll(filepath.Dir(path)) },
		"another took over": func(path string) error {
			defer Leave(path).Free(true)
			return os.Rename(small(t, filepath.Dir(path)), path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := large(t)
			start := time.Now()
			if err := remove(path); err != nil {
				t.Fatal(err)
			}
			if pieces := leavingFrom/leavingPiece - 1; time.Since(start) < time.Duration(pieces)*leavingPause {
				t.Errorf("it went within %v", time.Since(start))
			}
			if info, err := os.Stat(path); err == nil && info.Size() >= leavingFrom {
				t.Error("it is there still")
			}
		})
	}
}

// small makes a file that may take the place of a large one.
func small(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "small")
	if err := os.WriteFile(path, []byte("next"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAFileThatIsNeededKeepsItsBytes: one that has another name, one that is read, one that is mapped and one that was not removed.
func TestAFileThatIsNeededKeepsItsBytes(t *testing.T) {
	t.Run("another name", func(t *testing.T) {
		path := large(t)
		if err := os.Link(path, path+".kept"); err != nil {
			t.Fatal(err)
		}
		if err := Remove(path); err != nil || Size(path+".kept") != leavingFrom {
			t.Errorf("%v, %d bytes", err, Size(path+".kept"))
		}
	})
	t.Run("read", func(t *testing.T) {
		path := large(t)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		err = Remove(path)
		if info, failed := f.Stat(); err != nil || failed != nil || info.Size() != leavingFrom {
			t.Errorf("%v, %v, %d bytes", err, failed, info.Size())
		}
	})
	t.Run("mapped", func(t *testing.T) {
		path := large(t)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		data, unmap, err := Map(f, leavingFrom)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err := Remove(path); err != nil {
			t.Fatal(err)
		}
		if data[leavingFrom-1] != 0 { // a fault, if it were shorter
			t.Error("it ends with another byte")
		}
		if err := unmap(); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("removed in memory alone", func(t *testing.T) {
		path := large(t)
		left := Leave(path)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if left.Free(false); time.Since(start) >= leavingPause {
			t.Error("it was freed in pieces, each durably")
		}
	})
	t.Run("not removed", func(t *testing.T) {
		path := large(t)
		Leave(path).Free(true)
		if Size(path) != leavingFrom {
			t.Errorf("%d bytes", Size(path))
		}
	})
}

// TestALinkIsRemovedAlone: what it leads to stays, and a pipe is not waited for.
func TestALinkIsRemovedAlone(t *testing.T) {
	path := large(t)
	link, pipe := path+".link", path+".pipe"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{link, pipe} {
		if err := Remove(name); err != nil {
			t.Error(err)
		}
	}
	if Size(path) != leavingFrom {
		t.Errorf("%d bytes", Size(path))
	}
}
