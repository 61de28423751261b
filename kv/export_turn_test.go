package kv

import "io"

// GentlyBeside writes a large file beside a store's commits.
func GentlyBeside(s *Store, f SyncWriter) io.Writer { return s.gently(f) }

// HoldTurn keeps a store's commits and copies from the disk until give is called.
func HoldTurn(s *Store) (give func()) {
	s.turn.take()
	return s.turn.give
}

// TurnPatience is how long a copy waits for its turn.
const TurnPatience = turnPatience
