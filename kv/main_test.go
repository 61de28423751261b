package kv_test

import (
	"fmt"
	"os"
	"testing"

	"doorward/kv/kvtest/proof"
)

// TestMain draws fewer cases than rapid does by itself: each has a store, on a disk, of its own. Called by flip_test.go the program
// is a reader of damaged files.
func TestMain(m *testing.M) {
	if file, ok := os.LookupEnv(flipVariable); ok {
		if err := readFlips(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	proof.Draws(5, 20)
	os.Exit(m.Run())
}
