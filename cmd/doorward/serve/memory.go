package serve

import (
	"runtime/debug"
	"runtime/metrics"
	"time"

	"doorward/cmd/doorward/repeat"
)

// From a limit on the collector works harder, so that large requests leave little garbage. Near its limit a program does little else than
// collect: there must be room above what is in use.
const (
	leastMemory = 128 << 20 // bytes
	memoryStep  = 16 << 20  // the program stops for a moment when the limit is set
	memoryLook  = time.Second
)

// limitFor is the limit where so many bytes are in use: half as many again, in whole steps.
func limitFor(inUse int64) int64 {
	steps := (inUse + inUse/2 + memoryStep - 1) / memoryStep
	return max(leastMemory, steps*memoryStep)
}

// limitMemory has the limit follow what is in use, until end is called: it rises at once, and falls step by step.
func limitMemory() (end func()) {
	limit := int64(leastMemory)
	debug.SetMemoryLimit(limit)
	return repeat.Every(memoryLook, func() {
		if next := max(limitFor(memoryInUse()), limit-memoryStep); next != limit {
			limit = next
			debug.SetMemoryLimit(limit)
		}
	})
}

// memoryInUse is how many bytes the last collection has found in use.
func memoryInUse() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
