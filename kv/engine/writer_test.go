package engine

import (
	"errors"
	"testing"
)

// TestABulkThatIsRefusedGoesOnNoMore: once a group with operations of a bulk was refused, later ones are not run, because the caller is told to ask for all again.
func TestABulkThatIsRefusedGoesOnNoMore(t *testing.T) {
	db := opened(t)
	ran := 0
	j := &job{done: make(chan error, 1), full: ErrBusy, next: 1}
	for range 3 {
		j.ops = append(j.ops, Op{Run: func(*Tx) error { ran++; return nil }})
	}
	if !db.writer.queue.push(j) {
		t.Fatal("the queue is closed")
	}
	if err := <-j.done; !errors.Is(err, ErrBusy) || ran != 0 {
		t.Errorf("%v, and %d operations were run", err, ran)
	}
}
