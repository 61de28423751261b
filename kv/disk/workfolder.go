package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// MakeWorkFolder makes a folder within a store's for a copy that is worked at, and done takes it away. It is locked until then, so that
// it can be told from what a killed process has left.
func MakeWorkFolder(dir, purpose string) (path string, done func() error, err error) {
	path, err = os.MkdirTemp(dir, OwnPrefix+purpose+"-")
	if err != nil {
		return "", nil, err
	}
	free, err := lockFolder(path)
	if err != nil {
		free = func() {} // its age tells that it is in use
	}
	return path, func() error {
		free()
		return RemoveAll(path)
	}, nil
}

// IsWorkFolder tells a name that MakeWorkFolder gives.
func IsWorkFolder(name, purpose string) bool {
	number, found := strings.CutPrefix(name, OwnPrefix+purpose+"-")
	return found && number != "" && strings.Trim(number, "0123456789") == ""
}

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

// How old an abandoned work folder is: it is locked as soon as it is made, or there are no locks.
const (
	abandonedLocking   = time.Minute
	abandonedUnlocking = 24 * time.Hour
)

// Abandoned tells whether the process that made a work folder has ended.
func Abandoned(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || time.Since(info.ModTime()) < abandonedLocking {
		return false
	}
	free, err := lockFolder(dir)
	if err == nil {
		free()
		return true
	}
	return !errors.Is(err, ErrInUse) && time.Since(info.ModTime()) >= abandonedUnlocking
}

// IsAtWork tells a file in a work folder that is in use, and will be taken away.
func IsAtWork(file string) bool {
	dir := filepath.Dir(file)
	return strings.HasPrefix(filepath.Base(dir), OwnPrefix) && !Abandoned(dir)
}
