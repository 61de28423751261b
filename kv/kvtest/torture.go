package kvtest

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// TortureVariable is how many seconds a test shall go on with fresh seeds.
const TortureVariable = "DOORWARD_TORTURE_SECONDS"

// Tortured is how long a test goes on; 0 where it is one of many.
func Tortured(t testing.TB) time.Duration {
	t.Helper()
	text, ok := os.LookupEnv(TortureVariable)
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s=%q", TortureVariable, text)
	}
	return time.Duration(n) * time.Second
}
