// Package peertest holds what the tests of several rooms of sync share: the table of the benchmarks (bench.go), a portal that answers in a
// server's place (portal.go), a record's history in short (history.go), and whether the race detector is on (race_on.go, race_off.go).
package peertest
