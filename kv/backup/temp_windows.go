package backup

import "os"

// tempFile is a file with a temporary name.
type tempFile struct {
	*os.File
	path string
}

// newTemp makes a file in dir, which is to become path. The library of the other systems has no rename that is atomic here.
func newTemp(dir, path string) (*tempFile, error) {
	f, err := os.CreateTemp(dir, "put-*")
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
