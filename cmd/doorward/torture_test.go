package main

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// tortured is how long a test shall go on with fresh seeds; ok is false where it is one of many.
func tortured(t testing.TB) (d time.Duration, ok bool) {
	text, ok := os.LookupEnv("DOORWARD_TORTURE_SECONDS")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("DOORWARD_TORTURE_SECONDS=%q", text)
	}
	return time.Duration(n) * time.Second, true
}
