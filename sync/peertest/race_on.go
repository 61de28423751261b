//go:build race

package peertest

// RaceDetector tells whether the race detector watches the tests.
const RaceDetector = true
