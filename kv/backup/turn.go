package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"doorward/kv/disk"
)

// turnPause is the time between two looks for a turn, or for the reader of a pipe.
const turnPause = 50 * time.Millisecond

// pause waits for a moment, or until ctx ends.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(turnPause):
	}
}

// takeTurn waits until no other process puts a backup into a folder, and keeps others out until free is called. On a system without
// locks there are no turns.
func takeTurn(ctx context.Context, dir string) (free func(), err error) {
	name := filepath.Join(dir, disk.OwnPrefix+"turn")
	for ctx.Err() == nil {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		free = func() {
			_ = os.Remove(name) // an empty file may stay; while it is locked it is ours
			_ = f.Close()
		}
		switch err := disk.Lock(f); {
		case errors.Is(err, errors.ErrUnsupported):
			return func() {}, errors.Join(f.Close(), os.Remove(name))
		case !errors.Is(err, disk.ErrInUse) && hasName(f, name):
			return free, nil
		}
		_ = f.Close() // another process has the turn
		pause(ctx)
	}
	return nil, ctx.Err()
}

// hasName reports whether an open file still has a name.
func hasName(f *os.File, name string) bool {
	mine, err := f.Stat()
	there, failed := os.Stat(name)
	return err == nil && failed == nil && os.SameFile(mine, there)
}
