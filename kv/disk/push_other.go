//go:build !linux

package disk

// push has the disk take a piece of a file, and waits for it.
func push(f SyncWriter, _ int64, _ int) error { return f.Sync() }
