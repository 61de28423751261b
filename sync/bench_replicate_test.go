package sync_test

import (
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

const (
	benchMany   = 100_000
	benchRounds = 3
)

// TestBench measures replication against the least that could do the same, and fails where a target is missed.
func TestBench(t *testing.T) {
	runBench(t, []benchPart{{name: "people", run: benchPeople}, {name: "documents", run: benchDocuments}, {name: "pouch", run: benchPouch}})
	t.Logf("rates are the best of %d rounds", benchRounds)
}

// benchPart is a part of a benchmark.
type benchPart struct {
	name string
	run  func(*testing.T) []benchLine
}

// runBench runs parts of a benchmark, prints the table, and fails where a target is missed.
func runBench(t *testing.T, parts []benchPart) {
	t.Helper()
	if os.Getenv("DOORWARD_BENCH") != "1" {
		t.Skip("only with DOORWARD_BENCH=1: make bench")
	}
	var table []benchLine
	for _, part := range parts {
		t.Run(part.name, func(t *testing.T) {
			lines := part.run(t)
			t.Logf("\n%s", benchTable(lines))
			table = append(table, lines...)
		})
	}
	t.Logf("\n%s", benchTable(table))
	for _, l := range table {
		if l.missed() {
			t.Errorf("target missed: %s", l.name)
		}
	}
}

// TestBenchLaptops measures laptops and their centre the same way.
func TestBenchLaptops(t *testing.T) {
	runBench(t, []benchPart{{name: "event", run: benchEvent}, {name: "scans", run: benchScans}, {name: "venues", run: benchVenues}})
}

// rate is how many documents a second a run copies, the best of some rounds. Where DOORWARD_BENCH_PROFILE names a folder, the CPU
// profile of all is written into it.
func rate(t *testing.T, name string, rounds int, run func() int) (most float64) {
	t.Helper()
	defer profile(t, name)()
	for range rounds {
		began := time.Now()
		n := run()
		most = max(most, float64(n)/time.Since(began).Seconds())
	}
	return most
}

func profile(t *testing.T, name string) (end func()) {
	t.Helper()
	dir := os.Getenv("DOORWARD_BENCH_PROFILE")
	if dir == "" {
		return func() {}
	}
	f, err := os.Create(filepath.Join(dir, strings.ReplaceAll(name, " ", "_")+".cpu"))
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
