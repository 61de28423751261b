package disk

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
)

// mounted mounts a disk until the test ends.
func mounted(t *testing.T, c Config) (*Disk, string) {
	t.Helper()
	d := New(c)
	dir, _ := d.MountFor(t)
	return d, dir
}

func TestProgramsSeeAnOrdinaryFolder(t *testing.T) {
	d, dir := mounted(t, Config{})
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(at("a"), 0o700), os.WriteFile(at("a", "one"), []byte("first"), 0o600), os.Link(at("a", "one"), at("a", "two")),
		os.Rename(at("a", "one"), at("three")), os.Chmod(at("three"), 0o640), os.WriteFile(at("a", "two"), []byte("2"), 0o600))
	if text, err := os.ReadFile(at("three")); string(text) != "2" || err != nil {
		t.Errorf("a file read under its other name = %q, %v", text, err)
	}
	if info, err := os.Stat(at("three")); err != nil || info.Mode() != 0o640 || info.Size() != 1 {
		t.Errorf("stat = %v, %v", info, err)
	}
	l, err := net.Listen("unix", at("socket"))
	must(err)
	c, err := net.Dial("unix", at("socket"))
	must(err, c.Close(), l.Close())
	must(os.RemoveAll(at("a")))
	entries, err := os.ReadDir(dir)
	must(err)
	if len(entries) != 1 || entries[0].Name() != "three" {
		t.Errorf("the folder holds %v", entries)
	}
	f, err := os.Open(dir)
	must(err, f.Sync(), f.Close())
	same(t, "the system's sync of a folder", outcomes(d, "three"), "", "2", "first", "2irst")
}

func TestSyncsComeOneByOne(t *testing.T) {
	var mu sync.Mutex
	var paths []string
	fails := error(nil)
	d, dir := mounted(t, Config{Sync: func(path string) error {
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, path)
		return fails
	}})
	f, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for _, step := range []func() error{
		func() error { _, err := f.WriteString("text"); return err }, f.Sync, func() error { return syscall.Fdatasync(int(f.Fd())) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	fails = syscall.EIO
	mu.Unlock()
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Errorf("a sync that fails = %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"file", "file", "file"}; !slices.Equal(paths, want) {
		t.Errorf("syncs of %q, want %q", paths, want)
	}
	if text := outcomes(d, "file"); !text["text"] {
		t.Errorf("the file holds %v", text)
	}
}

func TestShortWritesAndFullDisksShow(t *testing.T) {
	d, dir := mounted(t, Config{Take: func(_ string, n int) int { return min(n, 1000) }})
	f, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if n, err := syscall.Write(int(f.Fd()), make([]byte, 5000)); n != 1000 || err != nil {
		t.Errorf("write = %d, %v, want it short", n, err)
	}
	d.SetRoom(0, 12*blockSize)
	if _, err := f.WriteAt(make([]byte, 10), 1<<20); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("write on a full disk = %v", err)
	}
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil || int64(s.Bavail)*s.Bsize != 12*blockSize {
		t.Errorf("statfs tells of %d free bytes, %v", int64(s.Bavail)*s.Bsize, err)
	}
	d.SetRoom(-1, -1)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "there is room again"); err != nil {
		t.Error(err)
	}
}
