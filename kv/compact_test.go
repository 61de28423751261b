package kv_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/door"
	"doorward/kv/engine"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// A compacted store is the same store: its records, its epoch, its sequences.
func TestCompactingChangesNothing(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, kv.Config{Dir: dir})
	for range 50 {
		kvtest.Create(t, s, record.Person, `{"full_name":"Ana"}`)
	}
	before, epoch, seq := exported(t, s), s.Tables.Epochs.Present(), s.Tables.Commits.Seq()
	same := func(when string) {
		t.Helper()
		if after := exported(t, s); strings.Join(after, "\n") != strings.Join(before, "\n") || s.Tables.Epochs.Present() != epoch || s.Tables.Commits.Seq() != seq {
			t.Errorf("%s: %d records, epoch %s, seq %d", when, len(after), s.Tables.Epochs.Present(), s.Tables.Commits.Seq())
		}
		healthy(t, s)
		if info, err := os.Stat(table.Path(dir)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode = %v, %v", when, info.Mode(), err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "compact*")); err != nil || left != nil {
			t.Errorf("%s: left behind: %v, %v", when, left, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "compact.db"), []byte("half of one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Files.Compact(t.Context(), kvtest.Login(t, s, "church:1", "*:*")); kindOf(err) != "forbidden" {
		t.Errorf("Compact by a church's key = %v, want forbidden", err)
	}
	before, seq = exported(t, s), s.Tables.Commits.Seq() // with the key
	c, err := s.Files.Compact(t.Context(), auth.Operator())
	if info, failed := os.Stat(table.Path(dir)); err != nil || failed != nil || c.Bytes != info.Size() || c.Before == 0 {
		t.Errorf("Compact = %+v, %v, want the size of %v", c, err, info)
	}
	same("after compacting")
	if _, err := kv.Open(kv.Config{Dir: dir}); !errors.Is(err, disk.ErrInUse) {
		t.Errorf("Open of a store that was compacted = %v, want ErrInUse", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := s.Files.Compact(stopped, auth.Operator()); !errors.Is(err, context.Canceled) {
		t.Errorf("Compact that was stopped = %v", err)
	}
	same("stopped")
	closed(t, s)
	if _, err := s.Files.Compact(t.Context(), auth.Operator()); err == nil {
		t.Error("a store that is closed is compacted")
	}
	if err := os.WriteFile(filepath.Join(dir, "compact.db"), []byte("left by a crash"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = reopenable(t, kv.Config{Dir: dir})
	defer closed(t, s)
	same("opened again")
}

// While a store is compacted it is written and read, and nothing of that is lost.
func TestCompactingBesideWriters(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, kv.Config{Dir: dir})
	event := newEvent(t, s, "")
	for i := range 600 {
		kvtest.Create(t, s, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"OLD-%d"}`, event, i))
	}
	const writers = 4
	var all sync.WaitGroup
	done, stop := context.WithCancel(t.Context())
	names, admitted := [writers]map[int64]string{}, [writers]int{}
	for w := range writers {
		names[w] = map[int64]string{}
		all.Go(func() {
			for i := 0; done.Err() == nil; i++ {
				id := kvtest.Create(t, s, record.Person, `{"full_name":"Ana"}`)
				name := fmt.Sprintf("Ana %d %d", w, i)
				patched(t, s, record.Person, id, fmt.Sprintf(`{"full_name":%q}`, name))
				names[w][id] = name
				if i%3 == 0 {
					delete(names[w], id)
					if err := s.Desk.Delete(auth.Operator(), target(record.Person, id)); err != nil {
						t.Error(err)
					}
				}
				if code := i*writers + w; code < 600 {
					scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: fmt.Sprintf("OLD-%d", code)}, "admitted")
					admitted[w]++
				}
				if r, err := s.Desk.Retrieve(auth.Operator(), target(record.Event, event)); err != nil || member(r.JSON, "id") != fmt.Sprint(event) {
					t.Errorf("Retrieve = %s, %v", r.JSON, err)
				}
			}
		})
	}
	for range 3 {
		if _, err := s.Files.Compact(t.Context(), auth.Operator()); err != nil {
			t.Errorf("Compact = %v", err)
		}
	}
	stop()
	all.Wait()
	check := func() {
		t.Helper()
		healthy(t, s)
		persons, entered := 0, 0
		for w := range writers {
			persons, entered = persons+len(names[w]), entered+admitted[w]
			for id, name := range names[w] {
				if r, err := s.Desk.Retrieve(auth.Operator(), target(record.Person, id)); err != nil || member(r.JSON, "full_name") != strconv.Quote(name) {
					t.Errorf("person %d = %s, %v, want %s", id, r.JSON, err, name)
				}
			}
		}
		if n := pageOf(t, s, record.Person).Count; n != persons {
			t.Errorf("%d persons, want %d", n, persons)
		}
		if n := pageOf(t, s, record.Checkin).Count; n != entered {
			t.Errorf("%d check-ins, want %d", n, entered)
		}
	}
	check()
	closed(t, s)
	s = reopenable(t, kv.Config{Dir: dir})
	defer closed(t, s)
	check()
}

// A store asks for compacting when doors are quiet, and within a day in any case.
func TestWhenAStoreWantsCompacting(t *testing.T) {
	s, clock := opened(t)
	id := kvtest.Create(t, s, record.Person, `{"full_name":"Ana"}`)
	wants := func(want bool) {
		t.Helper()
		if got, err := s.Erasures.WantsCompacting(); err != nil || got != want {
			t.Errorf("WantsCompacting = %t, %v, want %t", got, err, want)
		}
	}
	wants(false)
	if _, err := s.Erasures.Erase(auth.Operator(), record.Person, record.Int(id)); err != nil {
		t.Fatal(err)
	}
	wants(false)
	clock.Move(13 * time.Hour)
	wants(true)
	event := newEvent(t, s, "")
	scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "X"}, "unknown_code")
	wants(false)
	clock.Move(11 * time.Hour)
	wants(true)
}

// TestAClockThatWasAheadHidesNoErasedBytes: the erasure or the compaction before it has a time that never came. The bytes are due until the
// next compaction, and then no longer.
func TestAClockThatWasAheadHidesNoErasedBytes(t *testing.T) {
	const ahead = 6 * 24 * time.Hour
	for _, wrong := range []string{"compaction", "erasure", "neither"} {
		t.Run(wrong, func(t *testing.T) {
			s, clock := opened(t)
			at := func(what string, act func() error) {
				t.Helper()
				if what == wrong {
					clock.Move(ahead)
					defer clock.Move(-ahead)
				}
				if err := act(); err != nil {
					t.Fatal(err)
				}
			}
			compact := func() error {
				_, err := s.Files.Compact(t.Context(), auth.Operator())
				return err
			}
			due := func(want int) {
				t.Helper()
				clock.Move(24 * time.Hour)
				n, _, err := s.Erasures.Uncompacted()
				if wants, failed := s.Erasures.WantsCompacting(); err != nil || failed != nil || n != want || wants != (want > 0) {
					t.Errorf("Uncompacted = %d, %v, WantsCompacting = %t, %v, want %d", n, err, wants, failed, want)
				}
			}
			at("compaction", compact)
			due(0)
			at("erasure", func() error {
				_, err := s.Erasures.Erase(auth.Operator(), record.Person, record.Int(kvtest.Create(t, s, record.Person, `{"full_name":"Ana"}`)))
				return err
			})
			due(1)
			at("", compact)
			due(0)
		})
	}
}

// TestWhatIsErasedDuringACompactionIsDue: the file that is written may hold it, and so it is with what is released.
func TestWhatIsErasedDuringACompactionIsDue(t *testing.T) {
	s, clock := opened(t)
	id := kvtest.Create(t, s, record.Person, `{"full_name":"Ana"}`)
	err := s.Tables.Engine.Rewrite(t.Context(), func(w *engine.Tx) {
		table.NoteCompacted(w)
		if _, err := s.Erasures.Erase(auth.Operator(), record.Person, record.Int(id)); err != nil {
			t.Error(err)
		}
	})
	if n, _, failed := s.Erasures.Uncompacted(); err != nil || failed != nil || n != 1 {
		t.Errorf("Rewrite = %v, and then %d are due, %v, want 1", err, n, failed)
	}
	if _, err := s.Files.Compact(t.Context(), auth.Operator()); err != nil {
		t.Fatal(err)
	}
	for _, church := range []string{"1", "2"} {
		kvtest.Create(t, s, record.Church, `{"name":"North"}`)
		kvtest.Create(t, s, record.Person, `{"full_name":"Bia","church_id":`+church+`}`)
	}
	released(t, s, "church-1")
	err = s.Tables.Engine.Rewrite(t.Context(), func(w *engine.Tx) {
		table.NoteCompacted(w)
		released(t, s, "church-2")
	})
	clock.Move(24 * time.Hour)
	if due, failed := s.Erasures.WantsCompacting(); err != nil || failed != nil || !due {
		t.Errorf("Rewrite = %v, and then WantsCompacting = %t, %v, want true", err, due, failed)
	}
}

// TestDamageIsNotCompacted: a row that fails its checksum is no row to take along, and the file that has it stays.
func TestDamageIsNotCompacted(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, kv.Config{Dir: dir})
	id := newTicket(t, s, newEvent(t, s, ""), "USED", "")
	if err := s.Files.NoteBackup(auth.Operator(), filepath.Join(dir, "monday.db")); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	misplaced(t, dir, "code", 0x01)
	s = reopenable(t, kv.Config{Dir: dir})
	before, err := os.Stat(table.Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Files.Compact(t.Context(), auth.Operator())
	bad := (*engine.BadFile)(nil)
	if !errors.As(err, &bad) || bad.Path != table.Path(dir) || !strings.Contains(bad.Reason, "bucket code") || !strings.Contains(bad.Backup, "monday.db") {
		t.Errorf("Compact of a damaged store = %v, want the file, the bucket and the backup", err)
	}
	if now, err := os.Stat(table.Path(dir)); err != nil || !os.SameFile(before, now) {
		t.Errorf("Compact of a damaged store puts another in its place: %v", err)
	}
	if _, err := s.Desk.Retrieve(auth.Operator(), target(record.Ticket, id)); err != nil {
		t.Errorf("Retrieve after it = %v", err)
	}
	kvtest.Create(t, s, record.Church, `{"name":"North"}`)
	closed(t, s)
	if left, err := filepath.Glob(filepath.Join(dir, "compact*")); err != nil || left != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestCompactingASmallFileMakesItNoLarger: it has less room to grow into than files have that are written.
func TestCompactingASmallFileMakesItNoLarger(t *testing.T) {
	s, _ := opened(t)
	churches(t, s, 50)
	dir := t.TempDir()
	if _, err := s.Files.CopyTo(auth.Operator(), table.Path(dir)); err != nil { // no larger than it must be
		t.Fatal(err)
	}
	copied := kvtest.OpenConfig(t, kv.Config{Dir: dir})
	growth := kv.Growth(copied)
	if c, err := copied.Files.Compact(t.Context(), auth.Operator()); err != nil || c.Bytes > c.Before+c.Before/8 {
		t.Errorf("Compact = %+v, %v, want no more bytes than before", c, err)
	}
	if now := kv.Growth(copied); now != growth {
		t.Errorf("the file grows by %d bytes at once since it was compacted, want %d as before", now, growth)
	}
}
