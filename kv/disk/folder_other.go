//go:build !windows

package disk

import (
	"errors"
	"os"
)

// OpenFolder opens a folder that is to be synced.
func OpenFolder(dir string) (*os.File, error) { return os.Open(dir) }

// cannotSync tells that a folder is open to others alone: here each that can be read can be synced.
func cannotSync(error) bool { return false }

// OpenFile is os.OpenFile for a file that may get another name while it is open, or lose its own.
func OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

// Replace gives a file the name of another one, which OpenFile may have opened. The caller calls Replaced when the other one is closed.
func Replace(from, to string) error { return os.Rename(from, to) }

// Replaced ends a Replace, also one that a crash has cut short: at every moment one of the two files has the name.
func Replaced(string) error { return nil }

// lockFolder takes the lock of a folder until free is called or the process ends: as Lock.
func lockFolder(dir string) (free func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := Lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // it was only locked
}
