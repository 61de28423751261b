package backup

import (
	"os"
	"path/filepath"
)

// tempFile is a file with a temporary name.
type tempFile struct {
	*os.File
	path string
}

// newTemp makes a file beside path, which it is to become. The library of the other systems has no rename that is atomic here.
func newTemp(path string) (*tempFile, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "put-*")
	return &tempFile{f, path}, err
}

// CloseAtomicallyReplace syncs and closes the file and gives it its name.
func (t *tempFile) CloseAtomicallyReplace() error {
	if err := t.Sync(); err != nil {
		return err
	}
	if err := t.Close(); err != nil {
		return err
	}
	return os.Rename(t.Name(), t.path)
}

// Cleanup closes the file. Its work folder is removed with it.
func (t *tempFile) Cleanup() error { return t.Close() }
