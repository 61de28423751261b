package kv_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync/atomic"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
)

// How large the store is, and how long and how often each side is measured.
const (
	benchPeople  = 100_000
	benchMany    = 1_000_000 // people of a store of its own
	benchHome    = 95_000    // of them in one church
	benchTickets = 50_000
	benchClients = 64
	benchRounds  = 25
	benchRound   = 200 * time.Millisecond
)

// bench is the store that everything is measured on. Its event keeps a list for each day, and its clock is moved a day on for
// each round: so every ticket admits again, and the file stays the same one.
type bench struct {
	table  *sheet
	store  *kv.Store
	dir    string
	ahead  atomic.Int64 // of the real clock, nanoseconds
	event  int64
	church int64
	door   auth.Principal
	key    [2]string // of the door
	reader auth.Principal
	read   [2]string // key and secret of the reader
}

// TestBench measures the store and its faces against the least that could do the same, and fails where a target is missed.
func TestBench(t *testing.T) {
	if os.Getenv("DOORWARD_BENCH") != "1" {
		t.Skip("only with DOORWARD_BENCH=1: make bench")
	}
	b := newBench(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"memory", benchIdle}, {"store", benchStore}, {"pages", benchPages}, {"http", benchHTTP}, {"search", benchSearch}, {"log", benchLog}, {"import", benchImport}, {"million", benchMillion},
	} {
		t.Run(part.name, func(t *testing.T) {
			profile(t, part.name)
			part.run(t, b)
		})
	}
	t.Logf("%d people, %d tickets, %d rounds of %v a side\n%v", benchPeople, benchTickets, benchRounds, benchRound, b.table)
	for _, name := range b.table.missed() {
		t.Errorf("target missed: %s", name)
	}
}

// profile writes a part's CPU profile into the folder that DOORWARD_BENCH_PROFILE names.
func profile(t *testing.T, part string) {
	dir := os.Getenv("DOORWARD_BENCH_PROFILE")
	if dir == "" {
		return
	}
	f, err := os.Create(filepath.Join(dir, part+".cpu"))
	if err != nil {
		t.Fatal(err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

func newBench(t *testing.T) *bench {
	b := &bench{table: &sheet{}, dir: t.TempDir()}
	s, err := kv.Open(b.config(b.dir))
	if err != nil {
		t.Fatal(err)
	}
	b.store = s
	t.Cleanup(func() {
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
	})
	b.fill(t)
	b.key[0], b.key[1] = kvtest.Key(t, s, fmt.Sprintf("event:%d", b.event), "checkin:*")
	b.read[0], b.read[1] = kvtest.Key(t, s, "denomination", "people:*")
	b.door, err = s.Keys.Login(b.key[0], b.key[1])
	if err != nil {
		t.Fatal(err)
	}
	if b.reader, err = s.Keys.Login(b.read[0], b.read[1]); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) config(dir string) kv.Config {
	return kv.Config{Dir: dir, Clock: func() time.Time { return time.Now().Add(time.Duration(b.ahead.Load())) }}
}

// nextDay begins a day on which nobody has been admitted.
func (b *bench) nextDay() { b.ahead.Add(int64(24 * time.Hour)) }

// code is a ticket's code, of the length of those we make.
func (b *bench) code(i int) string { return fmt.Sprintf("BENCH%011d", i) }

// admit checks one ticket in.
func (b *bench) admit(i int) error {
	d, err := b.store.Door.CheckIn(b.door, door.Attempt{Event: b.event, Code: b.code(i), Door: "north"})
	if err == nil && d.Outcome != outcome.Admitted {
		err = fmt.Errorf("ticket %d is %s", i, d.Outcome)
	}
	return err
}

// copyFile copies the store, as a file that stands alone.
func (b *bench) copyFile(t testing.TB, to string) string {
	t.Helper()
	if _, err := b.store.Files.CopyTo(auth.Operator(), to); err != nil {
		t.Fatal(err)
	}
	return to
}
