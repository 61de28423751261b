package disk

import (
	"io"
	"time"
)

// pieceBytes is how much of a large file the disk is given at once: a door's commit may have to wait for so much.
const pieceBytes = 192 << 10

// Throttle writes a large file beside a file that is written: the disk is given it piece by piece, because a commit's sync waits for all that
// the disk was given before. None of that makes it durable: the caller syncs it at the end.
func Throttle(f SyncWriter) io.Writer { return &throttle{file: f} }

// SyncWriter is what Throttle writes: an *os.File.
type SyncWriter interface {
	io.Writer
	Sync() error
}

type throttle struct {
	file     SyncWriter
	turn     Turn          // is waited for before each piece; nil = no other writer is known
	patience time.Duration // how long
	pushed   int64         // bytes that the disk has
	held     int           // bytes that it has not
}

// Throttle is the package's Throttle for a file that takes turns with commits, piece by piece.
func (t Turn) Throttle(f SyncWriter) io.Writer {
	return &throttle{file: f, turn: t, patience: turnPatience}
}

// Write writes, and has the disk take it where enough has come together.
func (t *throttle) Write(b []byte) (n int, err error) {
	n, err = t.file.Write(b)
	if t.held += n; err != nil || t.held < pieceBytes {
		return n, err
	}
	err = t.push()
	t.pushed, t.held = t.pushed+int64(t.held), 0
	return n, err
}

// push has the disk take what is held, when it is the copy's turn. A commit that has it for too long may be waiting for the copy's end: no
// piece waits any more until that commit is done.
func (t *throttle) push() error {
	switch {
	case t.turn == nil:
	case t.turn.takeWithin(t.patience):
		defer t.turn.give()
		t.patience = turnPatience
	default:
		t.patience = 0
	}
	return push(t.file, t.pushed, t.held)
}

// turnPatience is how long a copy waits for its turn: a commit that has it may itself wait for the copy's View, to map a larger file.
const turnPatience = time.Second

// Turn orders a commit and the pieces of a copy at the disk: the first to ask has it first, so a commit waits for one piece at most.
type Turn chan struct{}

// NewTurn makes a turn that is free.
func NewTurn() Turn { return make(Turn, 1) }

// During calls do when its turn has come.
func (t Turn) During(do func() error) error {
	t.take()
	defer t.give()
	return do()
}

func (t Turn) take() { t <- struct{}{} }

func (t Turn) give() { <-t }

// takeWithin takes the turn, or tells that it did not come within the given time.
func (t Turn) takeWithin(d time.Duration) bool {
	select {
	case t <- struct{}{}:
		return true
	default:
	}
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case t <- struct{}{}:
		return true
	case <-late.C:
		return false
	}
}
