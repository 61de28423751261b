package wal_test

import (
	"os"
	"testing"

	"doorward/kv/engine/wal"
)

// A sync that fails is told, at a stop too: otherwise the file would be taken to have what the disk does not. The null device takes each write,
// and cannot be synced.
func TestASyncThatFailsIsTold(t *testing.T) {
	for name, do := range map[string]func(*wal.Log) error{
		"an append": func(l *wal.Log) error { _, err := l.Append([]byte("lost")); return err },
		"the end":   (*wal.Log).End,
	} {
		w := newLog(t)
		w.append("kept")
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		w.must(err)
		w.must(w.log.PutBeneath(null))
		if err := do(w.log); err == nil {
			t.Errorf("%s that the disk does not take is no error", name)
		}
		w.must(w.log.Close())
	}
}
