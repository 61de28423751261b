package index_test

import (
	"os"
	"testing"

	"doorward/kv/kvtest/proof"
)

// TestMain draws fewer cases than rapid does by itself: each has a store and an index of its own.
func TestMain(m *testing.M) {
	proof.Draws(2, 30)
	os.Exit(m.Run())
}
