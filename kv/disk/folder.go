package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// SyncDir makes the names in a folder durable.
func SyncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
