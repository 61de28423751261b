//go:build !race

package sync_test

const raceDetector = false
