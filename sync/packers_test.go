package sync_test

import (
	"runtime"
	"testing"

	"doorward/kv/kvtest/proof"
	"doorward/sync/peertest"
)

// TestAnAnswerTakesNoNewRoomToBePacked: what compresses, gzip or zstd, takes a megabyte, and one answer hands it on to the next.
func TestAnAnswerTakesNoNewRoomToBePacked(t *testing.T) {
	if proof.Raced {
		t.Skip("under the race detector a pool loses some of what it is given")
	}
	procs := runtime.GOMAXPROCS(1) // each of them keeps packers of its own
	t.Cleanup(func() { runtime.GOMAXPROCS(procs) })
	s := peertest.NewSite(t)
	s.Put("a", `{"n":1}`)
	for _, packing := range []struct{ path, name string }{{"/notes/_changes", "gzip"}, {"/notes/_feed", "zstd"}} {
		var before, after runtime.MemStats
		const answers = 50
		for i := range answers + 1 { // the first one's is made
			if i == 1 {
				runtime.ReadMemStats(&before)
			}
			a := s.Do("GET", packing.path, "", "Accept-Encoding", packing.name, "Doorward-Feed", "1")
			if got := a.Header.Get("Content-Encoding"); a.Status != 200 || got != packing.name {
				t.Fatalf("%s = %d, packed with %q", packing.path, a.Status, got)
			}
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / answers; each > 300<<10 {
			t.Errorf("an answer of %s takes %d KiB", packing.path, each>>10)
		}
	}
}
