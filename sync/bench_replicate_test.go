package sync_test

import (
	"testing"

	"doorward/sync/peertest"
)

// TestBench measures replication against the least that could do the same, and fails where a target is missed.
func TestBench(t *testing.T) {
	peertest.Bench(t, []peertest.Part{{Name: "people", Run: benchPeople}, {Name: "documents", Run: benchDocuments}, {Name: "pouch", Run: benchPouch}})
	t.Logf("rates are the best of %d rounds", peertest.BenchRounds)
}
