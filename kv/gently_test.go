package kv_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// piece is how much of a large file goes to the disk at once.
const piece = 192 << 10

// lazy is a file that syncs nothing by itself, and knows how much it ever held unsynced.
type lazy struct {
	unsynced, most, bytes int
	syncing               func() // while it syncs; nil = nothing
}

func (l *lazy) Write(b []byte) (int, error) {
	l.bytes += len(b)
	l.unsynced += len(b)
	l.most = max(l.most, l.unsynced)
	return len(b), nil
}

func (l *lazy) Sync() error {
	if l.syncing != nil {
		l.syncing()
	}
	l.unsynced = 0
	return nil
}

// TestALargeFileIsSyncedInPieces: a door's commit waits on the disk for one of them at most, and not for the whole file.
func TestALargeFileIsSyncedInPieces(t *testing.T) {
	f := &lazy{}
	w := kv.Gently(f)
	const part = piece / 3
	for range 1000 {
		if n, err := w.Write(make([]byte, part)); n != part || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if f.bytes != 1000*part || f.most > piece {
		t.Errorf("of %d bytes %d lay unsynced, want %d at most", f.bytes, f.most, piece)
	}
}

// TestACommitAndAPieceOfACopyTakeTurns: a commit waits for the piece that the disk is taking, and the next piece for the commit.
func TestACommitAndAPieceOfACopyTakeTurns(t *testing.T) {
	s, _ := opened(t)
	church := kvtest.Parse(t, record.Church, `{"name":"A"}`, true)
	pieces := 0
	committed := make(chan error, 1)
	f := &lazy{syncing: func() {
		switch pieces++; pieces {
		case 1:
			go func() { committed <- kv.Force(s, church, 1) }()
			for !kv.CommitWaits() {
				select {
				case err := <-committed:
					t.Fatalf("a commit went to the disk beside a piece of a copy: %v", err)
				case <-time.After(time.Millisecond):
				}
			}
		case 2:
			select {
			case err := <-committed:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(10 * time.Second):
				t.Error("the copy's next piece went before a commit that had asked for longer")
			}
		}
	}}
	w := kv.GentlyBeside(s, f)
	for range 2 {
		if _, err := w.Write(make([]byte, piece)); err != nil {
			t.Fatal(err)
		}
	}
	if pieces != 2 {
		t.Errorf("%d pieces, want 2", pieces)
	}
}

// TestACopyEndsThoughACommitWaitsForIt: a commit that has the turn may wait for the end of the copy's View.
func TestACopyEndsThoughACommitWaitsForIt(t *testing.T) {
	s, _ := opened(t)
	kvtest.Fill(t, s, record.Person, 10_000, func(i int) string { return fmt.Sprintf(`{"full_name":"Ana %d"}`, i) })
	give := kv.HoldTurn(s)
	defer give()
	begun := time.Now()
	c, err := s.CopyTo(kv.Operator(), filepath.Join(t.TempDir(), "copy.db"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Bytes < 10*piece {
		t.Errorf("the copy has %d bytes, too few to wait more than once", c.Bytes)
	}
	if took := time.Since(begun); took < kv.TurnPatience || took > 8*kv.TurnPatience {
		t.Errorf("the copy took %v, want %v for its first turn and no wait for the others", took, kv.TurnPatience)
	}
}

// TestACopyTakesTurnsAgainAfterASlowCommit: the commit that had the turn for so long did not wait for the copy.
func TestACopyTakesTurnsAgainAfterASlowCommit(t *testing.T) {
	s, _ := opened(t)
	pieces, give := 0, kv.HoldTurn(s)
	f := &lazy{syncing: func() {
		switch pieces++; pieces {
		case 1: // it had no turn
			give()
		case 2:
			if kv.TurnIsFree(s) {
				t.Error("a copy's piece goes to the disk without its turn, though it is free")
			}
		}
	}}
	w := kv.GentlyBeside(s, f)
	for range 2 {
		if _, err := w.Write(make([]byte, piece)); err != nil {
			t.Fatal(err)
		}
	}
}
