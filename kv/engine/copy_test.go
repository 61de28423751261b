package engine

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestACopyEndsThoughACommitWaitsForIt: a commit that has the turn may wait for the end of the copy's View.
func TestACopyEndsThoughACommitWaitsForIt(t *testing.T) {
	db := opened(t)
	err := db.Do(false, func(tx *Tx) error {
		for i := range uint16(600) {
			tx.Put(1, binary.BigEndian.AppendUint16(nil, i), make([]byte, 24<<10))
		}
		return nil
	})
	if err = errors.Join(err, db.Fold()); err != nil { // its syncs are not what is measured
		t.Fatal(err)
	}
	ended := make(chan struct{})
	defer close(ended)
	taken := make(chan struct{})
	go func() {
		_ = db.turn.During(func() error {
			close(taken)
			<-ended
			return nil
		})
	}()
	<-taken
	begun := time.Now()
	f, err := os.Create(filepath.Join(t.TempDir(), "copy.db"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := db.CopyTo(f, func(*View) error { return nil })
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if n < 70*192<<10 {
		t.Errorf("the copy has %d bytes, too few to wait more than once", n)
	}
	if took := time.Since(begun); took < time.Second || took > 40*time.Second {
		t.Errorf("the copy took %v, want a second for its first turn and no wait for the others", took)
	}
}

// opened opens a new file with one bucket.
func opened(t *testing.T) *DB {
	t.Helper()
	db := startedAt(t, Config{Path: filepath.Join(t.TempDir(), "a.db"), Schema: &Schema{1: {Name: "one"}}})
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
