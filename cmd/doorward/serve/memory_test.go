package serve

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestTheLimitOfMemoryFollowsWhatIsInUse: a store whose lists alone take as much as the least limit must not have its server collect all the time.
func TestTheLimitOfMemoryFollowsWhatIsInUse(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	defer limitMemory()()
	held := make([]byte, 2*leastMemory)
	awaitLimit(t, func(limit int64) bool { return limit >= 3*leastMemory })
	runtime.KeepAlive(held)
	awaitLimit(t, func(limit int64) bool { return limit == leastMemory })
}

// awaitLimit waits for a limit, with a collection between two looks.
func awaitLimit(t *testing.T, is func(limit int64) bool) {
	t.Helper()
	for late := time.Now().Add(time.Minute); !is(debug.SetMemoryLimit(-1)); time.Sleep(memoryLook / 10) {
		if time.Now().After(late) {
			t.Fatalf("the limit stays %d", debug.SetMemoryLimit(-1))
		}
		runtime.GC()
	}
}
