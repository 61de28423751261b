//go:build race

package api_test

// machines play rapid's hundred sequences each on a store of their own. The race detector is too slow for all.
const machines = 2
