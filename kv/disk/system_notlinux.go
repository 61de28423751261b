//go:build !linux

package disk

import (
	"errors"
	"os"
)

// SyncData makes the bytes of a file durable.
func SyncData(f *os.File) error { return f.Sync() }

// push has the disk take a piece of a file, and waits for it.
func push(f SyncWriter, _ int64, _ int) error { return f.Sync() }

// openLeaving opens no file here: the system frees a large file at once.
func openLeaving(string) *os.File { return nil }

// isLeft is not known here.
func isLeft(*os.File) bool { return false }

// openUnnamed makes no file here.
func openUnnamed(string) (*os.File, error) { return nil, errors.ErrUnsupported }
