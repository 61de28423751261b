package engine

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// TestAStoreThatStopsWakesWhoWaitsForAFold: bulk work that is held until the file has taken in the log, and a door that waits for room in memory.
func TestAStoreThatStopsWakesWhoWaitsForAFold(t *testing.T) {
	for name, c := range map[string]struct {
		bytes int
		do    func(*DB, func(*Tx) error) error
	}{
		"bulk work": {bulkBytes, func(db *DB, run func(*Tx) error) error { return db.DoAll([]Op{{Run: run}}) }},
		"a door":    {doorBytes, func(db *DB, run func(*Tx) error) error { return db.Do(true, run) }},
	} {
		t.Run(name, func(t *testing.T) {
			db := opened(t)
			db.folding.mu.Lock() // no fold goes on
			for i := uint32(0); db.Figures().Bytes < c.bytes; i++ {
				err := db.Do(true, func(tx *Tx) error {
					tx.Put(1, binary.BigEndian.AppendUint32(nil, i), make([]byte, 200_000))
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			answer := make(chan error, 1)
			go func() { answer <- c.do(db, func(tx *Tx) error { tx.Put(1, []byte("late"), nil); return nil }) }()
			time.Sleep(50 * time.Millisecond) // it waits
			_ = db.stop(errors.New("input/output error"))
			db.folding.mu.Unlock()
			select {
			case err := <-answer:
				if !errors.Is(err, ErrStopped) {
					t.Errorf("the answer is %v, want %v", err, ErrStopped)
				}
			case <-time.After(20 * time.Second):
				t.Error("there is no answer")
			}
		})
	}
}

// TestAStopThatCannotFoldIsTold: the log stays, and the next to open the store has all that it holds.
func TestAStopThatCannotFoldIsTold(t *testing.T) {
	c := Config{Path: filepath.Join(t.TempDir(), "a.db"), Schema: &Schema{1: {Name: "one"}}}
	db := startedAt(t, c)
	if err := db.Do(true, func(tx *Tx) error { tx.Put(1, []byte("kept"), nil); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := db.state.Load().file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err == nil {
		t.Error("a stop that could not write the file is called a success")
	}
	db = startedAt(t, c)
	err := db.View(func(v *View) error {
		if v.Count(1) != 1 {
			t.Error("what was written is lost")
		}
		return nil
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Error(err)
	}
}
