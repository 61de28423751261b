package kv_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/table"
)

// The files that hold what was erased are named, as far as they are known and there.
func TestOlderFiles(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, table.Config{Dir: dir})
	defer closed(t, s)
	var want []string
	for _, name := range []string{filepath.Join(dir, "doorward-20260101T000000Z.db"), filepath.Join(t.TempDir(), `my "backup".db`), table.Path(filepath.Join(dir, "backup-1"))} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		want = append(want, name)
	}
	for _, name := range []string{want[1], want[1], filepath.Join(dir, "gone.db")} {
		if err := s.Tables.NoteBackup(auth.Operator(), name); err != nil {
			t.Fatal(err)
		}
	}
	files, err := s.Tables.OlderFiles(auth.Operator(), time.Now().Add(time.Minute))
	if err != nil || len(files) != 3 || files[0] == files[1] || files[1] == files[2] {
		t.Errorf("OlderFiles = %q, %v, want %q", files, err, want)
	}
	if files, err := s.Tables.OlderFiles(auth.Operator(), time.Unix(0, 0)); err != nil || len(files) != 2 {
		t.Errorf("OlderFiles of long ago = %q, %v, want what is in the folder", files, err)
	}
}

// TestACopyAtWorkIsNoOlderFile: it goes by itself. One that was left by who works no more is told of.
func TestACopyAtWorkIsNoOlderFile(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, table.Config{Dir: dir})
	defer closed(t, s)
	copied, done, err := disk.MakeWorkFolder(dir, "backup")
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, ".doorward-restore-1") // by a process that was killed
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-48 * time.Hour)
	for _, folder := range []string{copied, left} {
		if err := errors.Join(os.WriteFile(table.Path(folder), nil, 0o600), os.Chtimes(folder, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := s.Tables.OlderFiles(auth.Operator(), time.Now()); err != nil || !slices.Equal(files, []string{table.Path(left)}) {
		t.Errorf("OlderFiles beside a copy at work and one that was left = %q, %v", files, err)
	}
	if err := done(); err != nil {
		t.Error(err)
	}
}

// TestAHundredBackupsAreKnown: the file beside the store tells of as many as the store itself, the newest of them, and of each once.
func TestAHundredBackupsAreKnown(t *testing.T) {
	dir, shelf := folder(t), t.TempDir()
	s := reopenable(t, table.Config{Dir: dir})
	defer closed(t, s)
	for i := range 105 {
		for range 2 {
			if err := s.Tables.NoteBackup(auth.Operator(), filepath.Join(shelf, fmt.Sprintf("%d.db", i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, known := range []string{"4.db", "5.db"} { // the last that is forgotten, the first that is not
		oldest := filepath.Join(shelf, known)
		if err := os.WriteFile(oldest, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		said := table.NewestBackup(dir, time.UTC)
		if !strings.Contains(said, filepath.Join(shelf, "104.db")) || strings.Contains(said, oldest) != (known == "5.db") {
			t.Errorf("NewestBackup with only %s there = %q", known, said)
		}
	}
}
