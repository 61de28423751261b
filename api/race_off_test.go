//go:build !race

package api_test

// machines play rapid's hundred sequences each on a store of their own.
const machines = 20
