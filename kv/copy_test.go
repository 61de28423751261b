package kv_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doorward/kv/auth"
	"doorward/kv/backup"
	"doorward/kv/disk"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// TestCopyOfAStoreThatIsWritten holds all that was answered before it was begun, and is sound.
func TestCopyOfAStoreThatIsWritten(t *testing.T) {
	s, _ := opened(t)
	churches(t, s, 50)
	notebook(t, s)
	ended, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				kvtest.Create(t, s, record.Church, `{"name":"B"}`)
			}
		}
	}()
	for range 5 {
		dir := t.TempDir()
		before := s.Tables.Commits.Seq()
		c, err := s.Files.CopyTo(auth.Operator(), table.Path(dir))
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(table.Path(dir))
		if err != nil || info.Mode().Perm() != 0o600 || info.Size() != c.Bytes {
			t.Errorf("the copy is %v, %v, want mode 600 and %d bytes", info, err, c.Bytes)
		}
		other := kvtest.OpenConfig(t, table.Config{Dir: dir, Aside: true})
		want := backup.Copied{Realm: s.Tables.Identity.Realm(), Node: s.Tables.Identity.Node(), Epoch: s.Tables.Epochs.Present(), Seq: other.Tables.Commits.Seq(), At: sunday, Bytes: info.Size()}
		if c != want || other.Tables.Commits.Seq() < before || other.Tables.Identity.Node() != s.Tables.Identity.Node() || other.Tables.Epochs.Present() != s.Tables.Epochs.Present() {
			t.Errorf("CopyTo = %+v, want %+v from sequence %d on", c, want, before)
		}
		healthy(t, other)
	}
	close(stop)
	<-ended
}

func TestCopiesAreForWhoRulesTheStoreAndReplaceNothing(t *testing.T) {
	s, _ := opened(t)
	path := filepath.Join(t.TempDir(), "there")
	for _, p := range []auth.Principal{{}, kvtest.Login(t, s, "denomination", "people:GET"), kvtest.Login(t, s, "church:1", "*:*")} {
		if _, err := s.Files.CopyTo(p, path); !errors.Is(err, auth.ErrForbidden) {
			t.Errorf("CopyTo by %v = %v, want ErrForbidden", p, err)
		}
	}
	if err := os.WriteFile(path, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Files.CopyTo(auth.Operator(), path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("CopyTo over a file = %v, want ErrExist", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "theirs" {
		t.Errorf("the file that was there holds %q, %v", text, err)
	}
}

// TestReplacedStoreIsKept beside the one that is in its place now.
func TestReplacedStoreIsKept(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, table.Config{Dir: dir})
	churches(t, s, 1)
	if _, err := backup.ReplaceStore(dir, "nowhere", sunday, slog.New(slog.DiscardHandler)); !errors.Is(err, disk.ErrInUse) {
		t.Errorf("Replace of an open store = %v, want ErrInUse", err)
	}
	put := func() (kept string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "copy")
		if _, err := s.Files.CopyTo(auth.Operator(), file); err != nil {
			t.Fatal(err)
		}
		churches(t, s, 1)
		closed(t, s)
		kept, err := backup.ReplaceStore(dir, file, sunday.Add(time.Millisecond), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		s = reopenable(t, table.Config{Dir: dir})
		return kept
	}
	first, second := put(), put()
	if filepath.Base(first) != "doorward-20261122T190000Z.db" || filepath.Base(second) != "doorward-20261122T190000Z-2.db" {
		t.Errorf("the stores before are kept as %s and %s", first, second)
	}
	if n := pageOf(t, s, record.Church).Count; n != 1 {
		t.Errorf("the store holds %d churches, want the 1 of the copy", n)
	}
	closed(t, s)
	for _, kept := range []string{second, first} {
		if last, err := backup.ReplaceStore(dir, kept, sunday, slog.New(slog.DiscardHandler)); err != nil || last == "" {
			t.Fatalf("Replace by %s = %q, %v", kept, last, err)
		}
		s = reopenable(t, table.Config{Dir: dir})
		if n := pageOf(t, s, record.Church).Count; n != 2 {
			t.Errorf("%s holds %d churches, want 2", kept, n)
		}
		closed(t, s)
	}
}

func TestReplaceWhereThereIsNoStore(t *testing.T) {
	s, _ := opened(t)
	churches(t, s, 1)
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	if _, err := s.Files.CopyTo(auth.Operator(), file); err != nil {
		t.Fatal(err)
	}
	if kept, err := backup.ReplaceStore(dir, file, sunday, slog.New(slog.DiscardHandler)); err != nil || kept != "" {
		t.Errorf("Replace in an empty folder = %q, %v", kept, err)
	}
	healthy(t, kvtest.OpenConfig(t, table.Config{Dir: dir}))
}

// TestReplaceOfAStoreThatIsNotTheOneSeen: what came or was written since somebody found that it may be replaced, stays.
func TestReplaceOfAStoreThatIsNotTheOneSeen(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, table.Config{Dir: dir})
	churches(t, s, 1)
	file := backedUp(t, s)
	seen, err := os.Stat(table.Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // file systems tell time no better
	churches(t, s, 1)
	closed(t, s)
	for name, seen := range map[string]fs.FileInfo{"none was there": nil, "it was not written yet": seen} {
		if kept, err := backup.ReplaceSeen(dir, file, seen, sunday, slog.New(slog.DiscardHandler)); !errors.Is(err, disk.ErrInUse) {
			t.Errorf("ReplaceSeen where %s = %q, %v, want ErrInUse", name, kept, err)
		}
	}
	s = reopenable(t, table.Config{Dir: dir})
	if n := pageOf(t, s, record.Church).Count; n != 2 {
		t.Errorf("the store holds %d churches, want 2", n)
	}
	closed(t, s)
}

// whenLogged is a log that calls a function with each line.
type whenLogged func(line string)

func (w whenLogged) Write(line []byte) (int, error) {
	w(string(line))
	return len(line), nil
}

// What came or was written just before the replacement has the store's lock stays too. The log of a broken store tells the moment.
func TestReplaceOfAStoreThatIsUsedMeanwhile(t *testing.T) {
	s, _ := opened(t)
	file := backedUp(t, s)
	for name, use := range map[string]func(path string) error{
		"written": func(path string) error { return os.Chtimes(path, sunday, sunday) },
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("new"), 0o600), os.Rename(path+".new", path))
		},
	} {
		dir := t.TempDir()
		path := table.Path(dir)
		if err := os.WriteFile(path, []byte("broken"), 0o600); err != nil {
			t.Fatal(err)
		}
		used := false
		log := slog.New(slog.NewTextHandler(whenLogged(func(line string) {
			if strings.Contains(line, "which ids it has given") {
				used = use(path) == nil
			}
		}), nil))
		if kept, err := backup.ReplaceStore(dir, file, sunday, log); !used || !errors.Is(err, disk.ErrInUse) {
			t.Errorf("Replace of a store that is %s, %t, = %q, %v, want ErrInUse", name, used, kept, err)
		}
		if is, err := os.ReadFile(path); err != nil || len(is) > len("broken") {
			t.Errorf("%s: the file in its place has %d bytes, %v", name, len(is), err)
		}
	}
}
