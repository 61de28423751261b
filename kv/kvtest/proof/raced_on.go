//go:build race

package proof

// Raced tells whether the race detector is on.
const Raced = true
