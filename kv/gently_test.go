package kv_test

import (
	"testing"

	"doorward/kv"
)

// lazy is a file that syncs nothing by itself, and knows how much it ever held unsynced.
type lazy struct{ unsynced, most, bytes int }

func (l *lazy) Write(b []byte) (int, error) {
	l.bytes += len(b)
	l.unsynced += len(b)
	l.most = max(l.most, l.unsynced)
	return len(b), nil
}

func (l *lazy) Sync() error {
	l.unsynced = 0
	return nil
}

// TestALargeFileIsSyncedInPieces: a door's commit waits on the disk for one of them at most, and not for the whole file.
func TestALargeFileIsSyncedInPieces(t *testing.T) {
	const piece = 64 << 10
	f := &lazy{}
	w := kv.Gently(f)
	for range 1000 {
		if n, err := w.Write(make([]byte, piece)); n != piece || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if f.bytes != 1000*piece || f.most > 256<<10 {
		t.Errorf("of %d bytes %d lay unsynced, want 256 KiB at most", f.bytes, f.most)
	}
}
