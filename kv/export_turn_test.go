package kv

import (
	"bytes"
	"io"
	"runtime"
)

// GentlyBeside writes a large file beside a store's commits.
func GentlyBeside(s *Store, f SyncWriter) io.Writer { return s.gently(f) }

// HoldTurn keeps a store's commits and copies from the disk until give is called.
func HoldTurn(s *Store) (give func()) {
	s.turn.take()
	return s.turn.give
}

// TurnIsFree tells whether nobody has the turn.
func TurnIsFree(s *Store) bool { return len(s.turn) == 0 }

// CommitWaits tells whether a commit, of whatever store, waits for its turn.
func CommitWaits() bool {
	stacks := make([]byte, 1<<20)
	return bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("kv.turn.take("))
}

// TurnPatience is how long a copy waits for its turn.
const TurnPatience = turnPatience
