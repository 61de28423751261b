package table

import (
	"errors"
	"os"
	"path/filepath"

	"doorward/kv/disk"
)

// VerifyName is the file beside the store that tells of the last check of its values: a moment in microseconds, a blank, and the number of
// faults. It lies beside the store, for a check writes nothing into the file that it has checked.
const VerifyName = "doorward.verify"

// ReplaceSmall puts a file of a few bytes in the place of another: a temporary name, fsync, rename, fsync of the folder.
func ReplaceSmall(dir, name string, text []byte) error {
	f, err := os.CreateTemp(dir, disk.OwnPrefix+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one to tell
		return err
	}
	return disk.SyncDir(dir)
}
