package kv_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain draws fewer cases than rapid does by itself: each has a store, on a disk, of its own.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
