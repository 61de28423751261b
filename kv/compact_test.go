package kv_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// A compacted store is the same store: its records, its epoch, its sequences.
func TestCompactingChangesNothing(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, kv.Config{Dir: dir})
	for range 50 {
		kvtest.Create(t, s, record.Person, `{"full_name":"Ana"}`)
	}
	before, epoch, seq := exported(t, s), s.Epoch(), s.Seq()
	if err := kv.Compact(dir, time.Now()); !errors.Is(err, kv.ErrInUse) {
		t.Errorf("Compact of an open store = %v, want ErrInUse", err)
	}
	closed(t, s)
	if err := os.WriteFile(filepath.Join(dir, "compact.db"), []byte("half of one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := kv.Compact(dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	s = reopenable(t, kv.Config{Dir: dir})
	defer closed(t, s)
	if after := exported(t, s); strings.Join(after, "\n") != strings.Join(before, "\n") || s.Epoch() != epoch || s.Seq() != seq {
		t.Errorf("after compacting: %d records, epoch %s, seq %d", len(after), s.Epoch(), s.Seq())
	}
	healthy(t, s)
	if info, err := os.Stat(kv.Path(dir)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "compact*")); err != nil || left != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := kv.Compact(t.TempDir(), time.Now()); err == nil {
		t.Error("a folder without a store is compacted")
	}
}

// A store asks for compacting when doors are quiet, and within a day in any case.
func TestWhenAStoreWantsCompacting(t *testing.T) {
	s, clock := opened(t)
	id := kvtest.Create(t, s, record.Person, `{"full_name":"Ana"}`)
	wants := func(want bool) {
		t.Helper()
		if got, err := s.WantsCompacting(); err != nil || got != want {
			t.Errorf("WantsCompacting = %t, %v, want %t", got, err, want)
		}
	}
	wants(false)
	if _, err := s.Erase(kv.Operator(), record.Person, record.Int(id)); err != nil {
		t.Fatal(err)
	}
	wants(false)
	clock.Move(13 * time.Hour)
	wants(true)
	event := newEvent(t, s, "")
	scanned(t, s, kv.Operator(), kv.Attempt{Event: event, Code: "X"}, "unknown_code")
	wants(false)
	clock.Move(11 * time.Hour)
	wants(true)
}

// The files that hold what was erased are named, as far as they are known and there.
func TestOlderFiles(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, kv.Config{Dir: dir})
	defer closed(t, s)
	var want []string
	for _, name := range []string{filepath.Join(dir, "doorward-20260101T000000Z.db"), filepath.Join(t.TempDir(), `my "backup".db`)} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		want = append(want, name)
	}
	for _, name := range []string{want[1], want[1], filepath.Join(dir, "gone.db")} {
		if err := s.NoteBackup(kv.Operator(), name); err != nil {
			t.Fatal(err)
		}
	}
	files, err := s.OlderFiles(kv.Operator(), time.Now().Add(time.Minute))
	if err != nil || len(files) != 2 || files[0] == files[1] {
		t.Errorf("OlderFiles = %q, %v, want %q", files, err, want)
	}
	if files, err := s.OlderFiles(kv.Operator(), time.Unix(0, 0)); err != nil || len(files) != 1 {
		t.Errorf("OlderFiles of long ago = %q, %v, want what is in the folder", files, err)
	}
}
