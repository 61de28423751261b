package index_test

import (
	"os"
	"testing"

	"doorward/kv/kvtest/proof"
)

// TestMain draws fewer cases than rapid does by itself: each has a store and an index of its own.
func TestMain(m *testing.M) {
	full := 30
	if proof.Raced { // which makes an index ten times as slow
		full = 5
	}
	proof.Draws(2, full)
	os.Exit(m.Run())
}
