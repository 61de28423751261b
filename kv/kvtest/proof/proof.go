package proof

import (
	"flag"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// The variables of the package's comment.
const (
	Variable        = "DOORWARD_PROOF"
	SeedVariable    = "DOORWARD_SEED"
	TortureVariable = "DOORWARD_TORTURE_SECONDS"
	CheckVariable   = "DOORWARD_CHECK"
	DiskVariable    = "DOORWARD_DISK"
)

// Full tells whether full counts are asked for.
func Full() bool { return os.Getenv(Variable) == "1" }

// Count is how often a test does what it does: a sample, or the full count in make proof.
func Count(sample, full int) int {
	if Full() {
		return full
	}
	return sample
}

// Sampled answers, for one case after the other, whether a test does it: each in make proof, and one in share in make test. The seed says
// which is the first.
func Sampled(seed uint64, share int) func() bool {
	turn := seed
	return func() bool {
		turn++
		return Full() || turn%uint64(share) == 0
	}
}

// Draws sets how many cases rapid draws, unless the command line says it. TestMain calls it.
func Draws(sample, full int) {
	if err := flag.Set("rapid.checks", strconv.Itoa(Count(sample, full))); err != nil {
		panic(err) // the test program does not use rapid
	}
}

// Only leaves a test to make proof. Why it is too slow for make test, or wants the machine for itself, is the reason.
func Only(t testing.TB, reason string) {
	t.Helper()
	if !Full() && Torture(t) == 0 {
		t.Skipf("%s: make proof runs it", reason)
	}
}

// Unraced leaves a test to the runs without the race detector. It is for tests of other processes, which the detector does not see,
// of measurements that it changes, and of long computing in one goroutine.
func Unraced(t testing.TB) {
	t.Helper()
	if Raced {
		t.Skip("the race detector has nothing to find in this test")
	}
}

// Hangup has the programs that a test starts end by a hangup. Tests that nohup has started ignore it, and their programs would too.
func Hangup(t testing.TB) {
	t.Helper()
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
}

// Seed is what a test draws from: another number each time, or the one that SeedVariable gives. The log has it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed, given := Given(t)
	if !given {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d; %s=%d draws the same again", seed, SeedVariable, seed)
	return seed
}

// Given is the seed of SeedVariable. It tells whether there is one.
func Given(t testing.TB) (seed uint64, ok bool) {
	t.Helper()
	text, ok := os.LookupEnv(SeedVariable)
	if !ok {
		return 0, false
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%q is no number", SeedVariable, text)
	}
	return seed, true
}

// Torture is how long a test goes on with fresh seeds; 0 where it does its count once.
func Torture(t testing.TB) time.Duration {
	t.Helper()
	text, ok := os.LookupEnv(TortureVariable)
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s=%q is no number", TortureVariable, text)
	}
	return time.Duration(n) * time.Second
}

// Missing ends a test that lacks a program or a right: it fails where everything must be checked, and is skipped elsewhere.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv(CheckVariable) != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// Memory is a folder in memory, where an fsync costs nothing, or a temporary folder where there is none. It goes with the test.
func Memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "doorward-")
	if err != nil {
		return t.TempDir()
	}
	return goes(t, dir)
}

// Disk is a folder on a disk, for a test of durability. It goes with the test.
func Disk(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(os.Getenv(DiskVariable), "doorward-") // "" is the system's own place
	if err != nil {
		t.Fatal(err)
	}
	return goes(t, dir)
}

// goes removes a folder when the test ends.
func goes(t testing.TB, dir string) string {
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
