package kv

import (
	"io"
	"time"
)

// gentleBytes is how much of a large file the disk is given at once: a door's commit may have to wait for so much.
const gentleBytes = 192 << 10

// Gently writes a large file beside a store that is written: the disk is given it piece by piece, for a commit's sync waits for all that
// the disk was given before. None of that makes it durable: the caller syncs it at the end.
func Gently(f SyncWriter) io.Writer { return &gentle{file: f} }

// SyncWriter is what Gently writes: an *os.File.
type SyncWriter interface {
	io.Writer
	Sync() error
}

type gentle struct {
	file     SyncWriter
	turn     turn          // is waited for before each piece; nil = nobody is known to write beside
	patience time.Duration // how long
	pushed   int64         // bytes that the disk has
	held     int           // bytes that it has not
}

// gently is Gently beside this store's commits: they and the pieces take turns.
func (s *Store) gently(f SyncWriter) io.Writer {
	return &gentle{file: f, turn: s.turn, patience: turnPatience}
}

// Write writes, and has the disk take it where enough has come together.
func (g *gentle) Write(b []byte) (n int, err error) {
	n, err = g.file.Write(b)
	if g.held += n; err != nil || g.held < gentleBytes {
		return n, err
	}
	err = g.push()
	g.pushed, g.held = g.pushed+int64(g.held), 0
	return n, err
}

// push has the disk take what is held, when it is the copy's turn. A commit that has it for too long may be waiting for the copy's end: no
// piece waits any more until that commit is done.
func (g *gentle) push() error {
	switch {
	case g.turn == nil:
	case g.turn.takeWithin(g.patience):
		defer g.turn.give()
		g.patience = turnPatience
	default:
		g.patience = 0
	}
	return push(g.file, g.pushed, g.held)
}
