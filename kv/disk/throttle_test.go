package disk

import (
	"bytes"
	"runtime"
	"testing"
	"time"
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
	w := Throttle(f)
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
	turn := NewTurn()
	pieces := 0
	committed := make(chan error, 1)
	f := &lazy{syncing: func() {
		switch pieces++; pieces {
		case 1:
			go func() { committed <- turn.During(func() error { return nil }) }()
			for !commitWaits() {
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
	w := turn.Throttle(f)
	for range 2 {
		if _, err := w.Write(make([]byte, piece)); err != nil {
			t.Fatal(err)
		}
	}
	if pieces != 2 {
		t.Errorf("%d pieces, want 2", pieces)
	}
}

// TestACopyTakesTurnsAgainAfterASlowCommit: the commit that had the turn for so long did not wait for the copy.
func TestACopyTakesTurnsAgainAfterASlowCommit(t *testing.T) {
	turn := NewTurn()
	turn.take()
	pieces := 0
	f := &lazy{syncing: func() {
		switch pieces++; pieces {
		case 1: // it had no turn
			turn.give()
		case 2:
			if len(turn) == 0 {
				t.Error("a copy's piece goes to the disk without its turn, though it is free")
			}
		}
	}}
	w := turn.Throttle(f)
	for range 2 {
		if _, err := w.Write(make([]byte, piece)); err != nil {
			t.Fatal(err)
		}
	}
}

// commitWaits tells whether a commit, of any file, waits for its turn. One that is only about to wait stands in no queue yet.
func commitWaits() bool {
	stacks := make([]byte, 1<<20)
	for one := range bytes.SplitSeq(stacks[:runtime.Stack(stacks, true)], []byte("\n\n")) {
		state, _, _ := bytes.Cut(one, []byte("\n")) // goroutine 7 [chan send]:
		if bytes.Contains(state, []byte("[chan send")) && bytes.Contains(one, []byte("disk.Turn.take(")) {
			return true
		}
	}
	return false
}
