package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"doorward/kv/engine"
)

// mayOpen has this process open so many more files, and no others, until lift is called.
func (s *subject) mayOpen(more uint64) (lift func()) {
	s.Helper()
	var was syscall.Rlimit
	s.must(syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was))
	f, err := os.Open(os.DevNull)
	s.must(err)
	next := uint64(f.Fd()) // the lowest number that is free
	s.must(f.Close())
	s.must(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: next + more, Max: was.Max}))
	return func() { s.must(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was)) }
}

// counted is how many files a folder has.
func (s *subject) counted(dir string) int {
	s.Helper()
	entries, err := os.ReadDir(dir)
	s.must(err)
	return len(entries)
}

// TestASegmentThatCannotBeOpenedRefusesTheChange: where this process has too many files open for the log's next segment, be it a new one or one that is used
// again, changes are refused, what was answered stays, also after a kill, and once a file can be opened they are taken again. No file stays open or lies
// about for each change that is refused.
func TestASegmentThatCannotBeOpenedRefusesTheChange(t *testing.T) {
	s := newSubject(t)
	put := func(key, value string) error {
		return s.Do(true, func(tx *engine.Tx) error { tx.Put(one, []byte(key), []byte(value)); return nil })
	}
	refused := func(err error) {
		t.Helper()
		if !errors.Is(err, engine.ErrBusy) || errors.Is(err, engine.ErrStopped) {
			t.Fatalf("a change for which no segment can be opened: %v, want ErrBusy", err)
		}
	}
	for more := range uint64(2) {
		lift := s.mayOpen(more)
		err := put("k00", "no log can be begun")
		lift()
		refused(err)
		s.holds()
	}
	for round := range 3 {
		s.write(map[string]string{"k01": fmt.Sprintf("files can be opened in round %d", round)})
		if round > 1 {
			s.must(s.Fold()) // there are segments to use again
		}
		lift, err := s.mayOpen(0), error(nil)
		for i := 0; err == nil && i < 5000; i++ {
			key, value := fmt.Sprintf("k%02d", i%40), strings.Repeat(fmt.Sprintf("%d of round %d ", i, round), 400)
			if err = put(key, value); err == nil {
				s.rows[key] = value
			}
		}
		lift()
		refused(err)
		s.holds()
		killed := &subject{TB: t, rows: s.rows, config: s.config}
		killed.config.Path = filepath.Join(s.image(), "a.db")
		killed.open()
		killed.holds()
		s.must(killed.Close())
	}
	log := filepath.Join(filepath.Dir(s.config.Path), "log")
	open, files := s.counted("/proc/self/fd"), s.counted(log)
	const times = 10
	for i := range times {
		lift, err := s.mayOpen(1), error(nil) // a file can be made, and its folder cannot be synced
		for try := 0; err == nil && try < 10; try++ {
			value := strings.Repeat("no segment has room for it ", 1<<18+i<<12+try) // a fold that closes a file just then lets it be made
			if err = put("k00", value); err == nil {
				s.rows["k00"] = value
			}
		}
		lift()
		refused(err)
	}
	if more := s.counted("/proc/self/fd") - open; more > times/2 {
		t.Errorf("%d files stay open after %d refused changes", more, times)
	}
	if more := s.counted(log) - files; more > times/2 {
		t.Errorf("%d segments lie about after %d refused changes", more, times)
	}
	s.write(map[string]string{"k02": "in the end"})
	s.must(s.Close())
	s.open()
	s.holds()
}
