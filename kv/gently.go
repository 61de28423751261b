package kv

import "io"

// gentleBytes is how much of a large file lies unsynced at most: a door's commit may have to wait for so much on the disk.
const gentleBytes = 1 << 20

// Gently writes a large file beside a store that is written: it is synced piece by piece, for a commit's sync waits for all that the
// disk has been given before. What was written last is left to the caller to sync.
func Gently(f SyncWriter) io.Writer { return &gentle{file: f} }

// SyncWriter is what Gently writes: an *os.File.
type SyncWriter interface {
	io.Writer
	Sync() error
}

type gentle struct {
	file     SyncWriter
	unsynced int
}

// Write writes, and syncs where enough has come together.
func (g *gentle) Write(b []byte) (n int, err error) {
	n, err = g.file.Write(b)
	if g.unsynced += n; err == nil && g.unsynced >= gentleBytes {
		g.unsynced = 0
		err = g.file.Sync()
	}
	return n, err
}
