package kv

import (
	"errors"
	"os"
	"time"
)

// Lock takes the lock of an open file until it is closed: ErrInUse where somebody else has it, errors.ErrUnsupported where there are none.
func Lock(f *os.File) error {
	if !locks {
		return errors.ErrUnsupported
	}
	return lockFile(f)
}

// LockFolder takes the lock of a folder until free is called or the process ends: as Lock.
func LockFolder(dir string) (free func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := Lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // it was only locked
}

// How old a folder is in which nobody works any more: it is locked as soon as it is made, or there are no locks.
const (
	abandonedLocking   = time.Minute
	abandonedUnlocking = 24 * time.Hour
)

// Abandoned tells whether nobody works any more in a folder that is locked with LockFolder while somebody does.
func Abandoned(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || time.Since(info.ModTime()) < abandonedLocking {
		return false
	}
	free, err := LockFolder(dir)
	if err == nil {
		free()
		return true
	}
	return !errors.Is(err, ErrInUse) && time.Since(info.ModTime()) >= abandonedUnlocking
}
