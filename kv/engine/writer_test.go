package engine

import (
	"errors"
	"path/filepath"
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

// TestNoTransactionIsOpenWhenACommitIsTold: the hook may open a View. Beside a transaction of the writer it would wait for ever for a fold that maps a
// larger file.
func TestNoTransactionIsOpenWhenACommitIsTold(t *testing.T) {
	db, err := Open(Config{Path: filepath.Join(t.TempDir(), "a.db"), Schema: &Schema{1: {Name: "one"}}})
	if err != nil {
		t.Fatal(err)
	}
	told, open := 0, 0
	db.Start(Hooks{Committed: func() { told, open = told+1, open+db.state.Load().file.Stats().OpenTxN }})
	err = db.Do(true, func(tx *Tx) error { tx.Put(1, []byte("a"), nil); return nil })
	if err := errors.Join(err, db.Close()); err != nil || told != 1 || open != 0 {
		t.Errorf("%v, told %d times with %d transactions open", err, told, open)
	}
}
