package engine_test

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/kvtest/proof"
)

// A day's check-ins: all tickets are checked in again and again, so the file has as many rows in the evening as in the morning.
const (
	dayTickets  = 50_000
	dayTogether = 250 // that one caller hands over
	dayCallers  = 8
	dayLog      = 12       // segments: of the two tables, and a few spare ones
	dayFile     = 48 << 20 // by so much the file may grow, which grows by 16 MiB at once: a leak of what is written is a gigabyte
)

// day is what must not grow while a day goes on.
type day struct{ segments, goroutines, handles, file int }

func (s *subject) now() day {
	s.Helper()
	runtime.GC()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(s.config.Path), "log", "*.seg"))
	s.must(err)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		open = nil // it is not told here
	}
	return day{len(files), runtime.NumGoroutine(), len(open), int(disk.Size(s.config.Path))}
}

// admit checks so many tickets in: a row of the ticket, one at the end of a log, and one at its beginning that goes.
func (s *subject) admit(count int, next *atomic.Int64) {
	s.Helper()
	key := func(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
	checkIn := func(n int64) func(*engine.Tx) error {
		return func(tx *engine.Tx) error {
			tx.Put(one, key(rand.Int64N(dayTickets)), append(key(n), make([]byte, 400)...))
			tx.Put(two, key(n), make([]byte, 40))
			tx.Delete(two, key(n-dayTickets))
			return nil
		}
	}
	var callers sync.WaitGroup
	for range dayCallers {
		callers.Go(func() {
			for range count / dayCallers / dayTogether {
				last := next.Add(dayTogether)
				ops := make([]engine.Op, dayTogether-1)
				for i := range ops {
					ops[i].Run = checkIn(last - int64(i))
				}
				if err := s.DoAll(ops); err != nil {
					s.Error(err)
				}
				if err := s.Do(true, checkIn(last-dayTogether+1)); err != nil {
					s.Error(err)
				}
			}
		})
	}
	callers.Wait()
}

// TestADaysLog: two million check-ins turn hundreds of segments over. Files, pages and goroutines are as many afterwards as at the beginning.
func TestADaysLog(t *testing.T) {
	proof.Unraced(t)
	s := newSubject(t)
	count := proof.Count(80_000, 2_000_000)
	var next atomic.Int64
	s.admit(2*dayTickets, &next) // the file has its size
	s.must(s.Fold())
	morning, start := s.now(), time.Now()
	s.admit(count, &next)
	s.must(s.Fold())
	evening := s.now()
	t.Logf("%d check-ins in %v: in the morning %+v, in the evening %+v", count, time.Since(start), morning, evening)
	if evening.segments > dayLog || evening.goroutines > morning.goroutines+2 || evening.handles > morning.handles+dayLog ||
		evening.file > morning.file+dayFile {
		t.Errorf("in the morning there were %+v, in the evening %+v", morning, evening)
	}
}
