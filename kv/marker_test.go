package kv_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// copied copies a folder as a person does.
func copied(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// epochOf opens and closes a store, and answers its epoch and whether it warned.
func epochOf(t testing.TB, c kv.Config) (epoch string, warned bool) {
	t.Helper()
	var log bytes.Buffer
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s := reopenable(t, c)
	defer func() { closed(t, s) }()
	return s.Tables.Epochs.Present(), strings.Contains(log.String(), "level=WARN")
}

func TestCopiedFolderBeginsANewEpoch(t *testing.T) {
	for _, c := range []struct {
		name    string
		move    func(c *kv.Config)
		machine string
		want    bool
	}{
		{"the same folder", func(*kv.Config) {}, "one", false},
		{"the folder renamed", func(c *kv.Config) { c.Dir = renamed(t, c.Dir) }, "one", false},
		{"the folder copied", func(c *kv.Config) { c.Dir = copied(t, c.Dir) }, "one", true},
		{"the file alone copied", func(c *kv.Config) { c.Dir = copied(t, c.Dir); removed(t, c.Dir, "doorward.mark") }, "one", true},
		{"another machine", func(*kv.Config) {}, "two", true},
		{"a machine that is not known", func(*kv.Config) {}, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := kv.Config{Dir: folder(t), Machine: "one"}
			first, warned := epochOf(t, config)
			if warned {
				t.Error("a new store warns of a copy")
			}
			original := config
			c.move(&config)
			config.Machine = c.machine
			second, warned := epochOf(t, config)
			if (second != first) != c.want || warned != c.want {
				t.Errorf("epochs %s and %s, warned %v, want a new one: %v", first, second, warned, c.want)
			}
			if third, warned := epochOf(t, config); third != second || warned {
				t.Errorf("a second start changes the epoch from %s to %s, or warns: %v", second, third, warned)
			}
			if config.Dir != original.Dir && c.want {
				if again, _ := epochOf(t, original); again != first {
					t.Errorf("the original's epoch is %s, was %s", again, first)
				}
			}
		})
	}
}

// TestACopyPutBackInItsPlaceBeginsANewEpoch, though its files may be given the numbers of those that were there.
func TestACopyPutBackInItsPlaceBeginsANewEpoch(t *testing.T) {
	for name, putBack := range map[string]func(t *testing.T, from, to string){
		"the folder is gone, times are new": func(t *testing.T, from, to string) {
			vacated(t, to)
			transcribed(t, from, to, false)
		},
		"the folder is gone, times are kept": func(t *testing.T, from, to string) {
			vacated(t, to)
			transcribed(t, from, to, true)
		},
		"the files are written over": func(t *testing.T, from, to string) { transcribed(t, from, to, false) },
	} {
		t.Run(name, func(t *testing.T) {
			c := kv.Config{Dir: folder(t), Machine: "one"}
			before, _ := epochOf(t, c)
			copy := filepath.Join(t.TempDir(), "copy")
			if err := os.Mkdir(copy, 0o700); err != nil {
				t.Fatal(err)
			}
			transcribed(t, c.Dir, copy, true)
			if still, warned := epochOf(t, c); still != before || warned {
				t.Fatalf("the folder that was copied has the epoch %s, was %s, warned %v", still, before, warned)
			}
			putBack(t, copy, c.Dir)
			after, warned := epochOf(t, c)
			if after == before || !warned {
				t.Errorf("the copy has the epoch %s again, warned %v", after, warned)
			}
			if again, warned := epochOf(t, c); again != after || warned {
				t.Errorf("the next start changes the epoch from %s to %s, warned %v", after, again, warned)
			}
		})
	}
}

// vacated removes a folder and makes it again.
func vacated(t testing.TB, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

// transcribed copies files into those of another folder, with their times if they are to be kept.
func transcribed(t testing.TB, from, to string, times bool) {
	t.Helper()
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, e.Name()), text, 0o600)
		}
		info, failed := e.Info()
		if err == nil && failed == nil && times {
			err = os.Chtimes(filepath.Join(to, e.Name()), time.Time{}, info.ModTime())
		}
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
	}
}

// TestAStoreThatWasMarkedBeforeGoesOn: an earlier version knew the sidecar by its inode alone.
func TestAStoreThatWasMarkedBeforeGoesOn(t *testing.T) {
	c := kv.Config{Dir: folder(t), Machine: "one"}
	before, _ := epochOf(t, c)
	kv.ForgetMeta(t, c.Dir, "marker_times")
	if after, warned := epochOf(t, c); after != before || warned {
		t.Errorf("the epoch is %s, was %s, warned %v", after, before, warned)
	}
	other := c
	other.Dir = copied(t, c.Dir)
	if after, warned := epochOf(t, other); after == before || !warned {
		t.Errorf("the epoch of a copy is %s, of the original %s, warned %v", after, before, warned)
	}
}

func renamed(t testing.TB, dir string) string {
	t.Helper()
	to := dir + "-2"
	if err := os.Rename(dir, to); err != nil {
		t.Fatal(err)
	}
	return to
}

func removed(t testing.TB, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// TestCursorsIntoACopy: what the original wrote after it was copied is not in the copy.
func TestCursorsIntoACopy(t *testing.T) {
	c := kv.Config{Dir: folder(t)}
	s := reopenable(t, c)
	churches(t, s, 3)
	closed(t, s)
	other := kv.Config{Dir: copied(t, c.Dir)}
	s = reopenable(t, c)
	churches(t, s, 3)
	cursor := s.Tables.Epochs.SeqText(6)
	wantSince(t, s, cursor, 6)
	closed(t, s)
	s = reopenable(t, other)
	churches(t, s, 9)
	wantSince(t, s, cursor, 3)
	healthy(t, s)
	closed(t, s)
}

// TestCopyOnAnotherMachineKnowsNothingOfItsClock: what was measured was measured of the other.
func TestCopyOnAnotherMachineKnowsNothingOfItsClock(t *testing.T) {
	l := newLaptop(t)
	l.measure(time.Hour)
	l.wantDoubt("an hour behind a peer's", table.OffPeer)
	l.config.Machine = "another"
	l.restart()
	l.wantDoubt("of another machine", "")
}

// TestUnwritableFolderIsServedAllTheSame: there is no room for the sidecar, or no right to make one.
func TestUnwritableFolderIsServedAllTheSame(t *testing.T) {
	c := kv.Config{Dir: folder(t)}
	epochOf(t, c)
	removed(t, c.Dir, "doorward.mark")
	if err := os.Symlink(filepath.Join(c.Dir, "nowhere", "x"), filepath.Join(c.Dir, "doorward.mark")); err != nil {
		t.Fatal(err)
	}
	if _, warned := epochOf(t, c); !warned {
		t.Error("a folder that cannot be marked is opened without a word")
	}
}

// TestRestoredStore: an epoch of its own, ids beyond those that may have been given out since the backup, and cursors that go on
// from where the backup ends.
func TestRestoredStore(t *testing.T) {
	c := kv.Config{Dir: folder(t)}
	s := reopenable(t, c)
	churches(t, s, 3)
	backup := copied(t, c.Dir)
	first := s.Tables.Epochs.Present()
	churches(t, s, 2)
	person := kvtest.Create(t, s, record.Person, `{"full_name":"Ana"}`)
	cursors := map[string]uint64{s.Tables.Epochs.SeqText(2): 2, s.Tables.Epochs.SeqText(3): 3, s.Tables.Epochs.SeqText(6): 3, "7-01ARZ3NDEKTSV4RRFFQ69G5FAV": 0}
	closed(t, s)

	epochs := map[string]bool{first: true}
	for range 2 { // the same backup twice: the first time has left nothing in it
		dir := copied(t, backup)
		s = reopenable(t, kv.Config{Dir: dir, Restored: true})
		closed(t, s)
		s = reopenable(t, kv.Config{Dir: dir}) // where it lies is not held against it
		if epochs[s.Tables.Epochs.Present()] {
			t.Errorf("a restored store has the epoch %s again", s.Tables.Epochs.Present())
		}
		epochs[s.Tables.Epochs.Present()] = true
		for text, want := range cursors {
			wantSince(t, s, text, want)
		}
		if id := kvtest.Create(t, s, record.Church, `{"name":"A"}`); id != 100_004 {
			t.Errorf("the next church has id %d, want 100004", id)
		}
		if id := kvtest.Create(t, s, record.Person, `{"full_name":"Eva"}`); id <= person {
			t.Errorf("the next person has id %d, want it beyond those that somebody may have", id)
		}
		epoch := s.Tables.Epochs.Present()
		closed(t, s)
		if again, warned := epochOf(t, kv.Config{Dir: dir}); again != epoch || warned {
			t.Errorf("after a restart the epoch is %s, was %s, warned %v", again, epoch, warned)
		}
	}
}

// TestStoreThatIsOnlyLookedAtStaysAsItIs: verify opens a copy so.
func TestStoreThatIsOnlyLookedAtStaysAsItIs(t *testing.T) {
	c := kv.Config{Dir: folder(t)}
	epochOf(t, c)
	dir := copied(t, c.Dir)
	before, err := os.ReadFile(table.Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, warned := epochOf(t, kv.Config{Dir: dir, Aside: true}); warned {
		t.Error("a copy that is only looked at warns")
	}
	after, err := os.ReadFile(table.Path(dir))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("a copy that is only looked at has changed, %v", err)
	}
}
