package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// OwnPrefix begins the names of temporary files beside a store's: no user gives a file this name.
const OwnPrefix = ".doorward-"

// MakeFolder makes a folder, and those above it, unless it is there. No power cut takes away what it made.
func MakeFolder(dir string) error {
	above := filepath.Dir(dir)
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) && above != dir {
		if err := MakeFolder(above); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if err == nil {
		return SyncDir(above)
	}
	info, failed := os.Stat(dir)
	switch {
	case failed == nil && info.IsDir():
		return nil
	case errors.Is(err, fs.ErrExist) && errors.Is(failed, fs.ErrNotExist):
		return fmt.Errorf("%s is a link to a folder that is not there", dir)
	case errors.Is(err, fs.ErrNotExist): // it was removed just now, or is the kernel's
		return fmt.Errorf("no folder %s can be made in %s: %w", filepath.Base(dir), above, errors.Unwrap(err))
	}
	return err
}

// Size is a file's length in bytes; 0 where there is none.
func Size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// SyncDir makes the names in a folder durable. A folder that the system does not let a program sync is left to it.
func SyncDir(dir string) error {
	d, err := OpenFolder(filepath.Clean(dir))
	if cannotSync(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// MakeWorkFolder makes a folder within a store's for a copy that is worked at, or for the files of an import, and done takes it away. It is
// locked until then, so that it can be told from what a killed process has left.
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

// ImportPurpose is the purpose of an import's work folder. The process that has the store makes it.
const ImportPurpose = "import"

// IsWorkFolder tells a name that MakeWorkFolder gives.
func IsWorkFolder(name, purpose string) bool {
	number, found := strings.CutPrefix(name, OwnPrefix+purpose+"-")
	return found && number != "" && strings.Trim(number, "0123456789") == ""
}

// abandonedFrom is how old an abandoned work folder is: it is locked as soon as it is made.
const abandonedFrom = time.Minute

// Abandoned tells whether the process that made a work folder has ended.
func Abandoned(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || time.Since(info.ModTime()) < abandonedFrom {
		return false
	}
	free, err := lockFolder(dir)
	if err == nil {
		free()
	}
	return err == nil
}

// IsAtWork tells a file in a work folder that is in use, and will be taken away.
func IsAtWork(file string) bool {
	dir := filepath.Dir(file)
	return strings.HasPrefix(filepath.Base(dir), OwnPrefix) && !Abandoned(dir)
}

// ErrInUse is a file that another process has locked.
var ErrInUse = errors.New("the store is open in another process")

// LockWithin is Lock that waits for another process to let go of the file.
func LockWithin(f *os.File, patience time.Duration) error {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if err := Lock(f); !errors.Is(err, ErrInUse) || time.Now().After(end) {
			return err
		}
	}
}
