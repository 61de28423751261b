//go:build !linux

package disk

import "os"

// SyncData makes the bytes of a file durable.
func SyncData(f *os.File) error { return f.Sync() }
