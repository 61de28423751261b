package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/kvtest/proof"
)

// mount puts a file system of so many bytes at a folder, or changes how many it has.
func mount(t *testing.T, dir string, bytes int64, flags uintptr) {
	t.Helper()
	if os.Geteuid() != 0 {
		proof.Missing(t, "only root can mount a small file system")
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, fmt.Sprintf("size=%d", bytes)); err != nil {
		proof.Missing(t, "no small file system can be mounted here: %v", err)
	}
	if flags != 0 {
		return
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
}

// cramped is an engine in a folder that is said to have plenty of room, and may have less.
func cramped(t *testing.T, dir string) *subject {
	t.Helper()
	s := &subject{TB: t, rows: map[string]string{}, config: engine.Config{
		Path: filepath.Join(dir, "a.db"), Schema: &engine.Schema{one: {Name: "one"}, two: {Name: "two"}},
		Room: disk.NewRoom(disk.RoomConfig{Dir: dir, Free: func() (int64, error) { return 1 << 40, nil }}),
	}}
	s.open()
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// fillDisk takes all the room of a disk for one file.
func (s *subject) fillDisk(ballast string) {
	s.Helper()
	b := make([]byte, 4<<10)
	f, err := os.OpenFile(ballast, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	s.must(err)
	for err == nil {
		_, err = f.Write(b)
	}
	s.must(f.Close())
}

// TestAFoldWithoutRoomRefusesChanges in the end, stops nothing and loses nothing: once there is room it is done.
func TestAFoldWithoutRoomRefusesChanges(t *testing.T) {
	dir := t.TempDir()
	mount(t, dir, 2<<20, 0)
	log := filepath.Join(dir, "log")
	if err := os.Mkdir(log, 0o700); err != nil {
		t.Fatal(err)
	}
	mount(t, log, 64<<20, 0)
	s := cramped(t, dir)
	value := strings.Repeat("a long value ", 4000)
	n, err := 0, error(nil)
	put := func() error {
		return s.Do(true, func(tx *engine.Tx) error { tx.Put(one, fmt.Appendf(nil, "l%04d", n), []byte(value)); return nil })
	}
	for ; n < 1000; n++ {
		if err = put(); err != nil {
			break
		}
		s.rows[fmt.Sprintf("l%04d", n)] = value
	}
	if !errors.Is(err, disk.ErrFull) || errors.Is(err, engine.ErrStopped) {
		t.Fatalf("after %d changes that the file has no room for: %v", n, err)
	}
	if err := s.Writable(); !errors.Is(err, disk.ErrFull) {
		t.Errorf("changes are refused, and the engine says %v", err)
	}
	s.holds()
	mount(t, dir, 128<<20, syscall.MS_REMOUNT)
	for late := time.Now().Add(20 * time.Second); s.Figures().Rows > 0; time.Sleep(10 * time.Millisecond) { // the fold is tried again
		if time.Now().After(late) {
			t.Fatalf("there is room, and %d rows are not folded", s.Figures().Rows)
		}
	}
	s.must(put())
	s.rows[fmt.Sprintf("l%04d", n)] = value
	s.holds()
	s.must(s.Close())
	s.open()
	s.holds()
}

// TestASegmentWithoutRoomRefusesTheChange: where the disk has no room for the next segment of the log, changes are refused, what was answered stays, also
// after a kill, and once there is room they are taken again.
func TestASegmentWithoutRoomRefusesTheChange(t *testing.T) {
	dir := t.TempDir()
	mount(t, dir, 8<<20, 0)
	s := cramped(t, dir)
	ballast := filepath.Join(dir, "ballast")
	fill := func() { s.fillDisk(ballast) }
	put := func(key, value string) error {
		return s.Do(true, func(tx *engine.Tx) error { tx.Put(one, []byte(key), []byte(value)); return nil })
	}
	fill()
	if err := put("k00", "no log can be begun"); !errors.Is(err, disk.ErrFull) {
		t.Fatalf("the first change on a full disk: %v", err)
	}
	s.holds()
	for round := range 3 {
		s.must(os.Remove(ballast))
		s.write(map[string]string{"k01": fmt.Sprintf("there is room in round %d", round)})
		fill()
		var err error
		for i := 0; err == nil; i++ {
			key, value := fmt.Sprintf("k%02d", i%40), strings.Repeat(fmt.Sprintf("%d of round %d ", i, round), 400)
			if err = put(key, value); err == nil {
				s.rows[key] = value
			}
			if i > 1000 {
				t.Fatal("no change is refused on a full disk")
			}
		}
		if !errors.Is(err, disk.ErrFull) || errors.Is(err, engine.ErrStopped) {
			t.Fatalf("a change that the log has no room for: %v", err)
		}
		s.holds()
		killed := &subject{TB: t, rows: s.rows, config: s.config}
		killed.config.Path, killed.config.Room = filepath.Join(s.image(), "a.db"), nil
		killed.open()
		killed.holds()
		s.must(killed.Close())
	}
	s.must(os.Remove(ballast))
	s.write(map[string]string{"k02": "in the end"})
	s.must(s.Close())
	s.open()
	s.holds()
}

// waits returns once so many jobs wait for the writer.
func (s *subject) waits(jobs int) {
	for s.Figures().Waiting != jobs {
		runtime.Gosched()
	}
}

// TestAnAnswerThatRestsOnARefusedChangeIsRefused: a job that writes nothing may have read what a job before it in its group has written. If the disk
// has no room for the group, nothing of this is there, so the answer would be wrong. The same holds for a bulk that goes on in a later group. A job that
// ran before the first change of the group has its answer.
func TestAnAnswerThatRestsOnARefusedChangeIsRefused(t *testing.T) {
	dir := t.TempDir()
	mount(t, dir, 8<<20, 0)
	s := cramped(t, dir)
	s.write(map[string]string{"k00": "the log is begun"})
	s.fillDisk(filepath.Join(dir, "ballast"))
	key, value, saw := "", strings.Repeat("x", 60<<10), false
	reads := func(tx *engine.Tx) error {
		row, err := tx.Get(one, []byte(key))
		saw = row != nil
		return err
	}
	bulk := func() error {
		return s.DoAll([]engine.Op{
			{Run: func(tx *engine.Tx) error {
				go func() { _ = s.Do(true, func(*engine.Tx) error { return nil }) }() // a door has the group closed
				s.waits(1)
				return reads(tx)
			}},
			{Run: func(*engine.Tx) error { return nil }},
		})
	}
	for _, c := range []struct {
		name   string
		second func() error
	}{{"a job", func() error { return s.Do(false, reads) }}, {"a bulk in two groups", bulk}} {
		var first, then, before error
		for round := 0; first == nil; round++ {
			if round > 1000 {
				t.Fatal("no change is refused on a full disk")
			}
			key = fmt.Sprintf("%s, round %d", c.name, round)
			for s.DoorWithin(time.Second) { // else a bulk waits for the next group
				runtime.Gosched()
			}
			var callers sync.WaitGroup
			began, gate := make(chan struct{}), make(chan struct{})
			callers.Go(func() { before = s.Do(false, func(*engine.Tx) error { close(began); <-gate; return nil }) })
			<-began
			callers.Go(func() {
				first = s.Do(false, func(tx *engine.Tx) error { tx.Put(one, []byte(key), []byte(value)); return nil })
			})
			s.waits(1)
			callers.Go(func() { then = c.second() })
			s.waits(2)
			close(gate)
			callers.Wait()
			if first == nil {
				s.must(then)
				s.rows[key] = value
			}
		}
		if !errors.Is(first, disk.ErrFull) || !saw {
			t.Fatalf("%s: the change = %v, and it was seen = %t, want ErrFull and true", c.name, first, saw)
		}
		if !errors.Is(then, disk.ErrFull) {
			t.Errorf("%s that has read the refused change = %v, want ErrFull", c.name, then)
		}
		if before != nil {
			t.Errorf("%s: the job before the change = %v, want no error", c.name, before)
		}
		s.holds()
	}
}
