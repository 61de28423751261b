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

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/disk"
	"doorward/kv/door"
	"doorward/kv/engine"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
)

func TestCheckInOnce(t *testing.T) {
	s := kvtest.Open(t)
	event := kvtest.Create(t, s, record.Event, `{"name":"Sunday","start_datetime":"2026-11-22T19:00:00Z"}`)
	kvtest.Create(t, s, record.Ticket, `{"event_id":1,"code":"K7QP-2M","holder_name":"Ana Souza","phone":"+55 11 98888-1234"}`)
	p := kvtest.Login(t, s, "event:1", "checkin:*")
	for i, want := range []outcome.Outcome{outcome.Admitted, outcome.AlreadyAdmitted, outcome.AlreadyAdmitted} {
		d, err := s.Door.CheckIn(p, door.Attempt{Event: event, Code: "k7qp2m", Door: "north"})
		if err != nil || d.Outcome != want {
			t.Fatalf("check-in %d = %+v, %v, want %s", i, d, err, want)
		}
		t.Logf("%+v", d)
	}
	r, err := s.Desk.Retrieve(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(1)})
	t.Logf("%s %s %v", r.JSON, r.Revision, err)
	page, err := s.Desk.List(auth.Operator(), desk.Query{Surface: record.V1, Kind: record.Event, Limit: 10})
	t.Logf("%s %v", page.Results, err)
	rep, err := s.Files.Verify(auth.Operator(), nil)
	if err != nil || rep.Damaged > 0 {
		t.Errorf("Verify = %+v, %v", rep, err)
	}
	t.Logf("%+v", rep)
}

// TestAStoreThatIsMissingIsNoNewOne: each of the files beside it tells that it was there. A file of anybody else tells nothing.
func TestAStoreThatIsMissingIsNoNewOne(t *testing.T) {
	for _, name := range []string{"doorward.mark", "doorward.backup", kv.LedgerName} {
		dir := folder(t)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("1700000000000000 \"/mnt/monday.db\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := kv.Open(kv.Config{Dir: dir})
		var bad *engine.BadFile
		if !errors.As(err, &bad) || bad.Path != table.Path(dir) || !strings.Contains(err.Error(), name) || (bad.Backup != "") != (name == "doorward.backup") {
			t.Errorf("Open beside %s = %v, want a BadFile", name, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("the folder holds %v, %v, want only %s", left, err, name)
		}
	}
	dir := folder(t)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "doorward.txt"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	kvtest.OpenConfig(t, kv.Config{Dir: dir})
}

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
		if err := s.Files.NoteBackup(auth.Operator(), name); err != nil {
			t.Fatal(err)
		}
	}
	files, err := s.Files.OlderFiles(auth.Operator(), time.Now().Add(time.Minute))
	if err != nil || len(files) != 3 || files[0] == files[1] || files[1] == files[2] {
		t.Errorf("OlderFiles = %q, %v, want %q", files, err, want)
	}
	if err := s.Tables.Do(func(o *table.Tx) error { o.Delete(table.MetaBucket, []byte("backups")); return nil }); err != nil {
		t.Fatal(err)
	}
	if after, err := s.Files.OlderFiles(auth.Operator(), time.Now().Add(time.Minute)); err != nil || !slices.Equal(after, files) {
		t.Errorf("OlderFiles of a restored store, which remembers no backup = %q, %v, want %q", after, err, files)
	}
	if files, err := s.Files.OlderFiles(auth.Operator(), time.Unix(0, 0)); err != nil || len(files) != 2 {
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
	if files, err := s.Files.OlderFiles(auth.Operator(), time.Now()); err != nil || !slices.Equal(files, []string{table.Path(left)}) {
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
			if err := s.Files.NoteBackup(auth.Operator(), filepath.Join(shelf, fmt.Sprintf("%d.db", i))); err != nil {
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
