package table

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/ledger"
)

// Folder is where the store lies.
type Folder struct {
	Dir      string
	Room     *disk.Room // on its disk
	ReadOnly bool       // nothing is written to it
}

// Bytes is the size of the store's file.
func (f *Folder) Bytes() int64 { return disk.Size(Path(f.Dir)) }

// Path is the store's file in a folder.
func Path(dir string) string { return filepath.Join(dir, "doorward.db") }

// makeFolderFor makes the folder of a new store. It returns a *BadFile if the folder had a store before and its file is missing.
func makeFolderFor(c Config) error {
	if c.ReadOnly {
		return nil
	}
	return errors.Join(disk.MakeFolder(c.Dir), Gone(c.Dir, time.UTC))
}

// Beside are the files that a store makes beside its own after its own file is durable.
var Beside = [...]string{markerName, newestName, ledger.LedgerName}

// Gone returns a *BadFile if a folder had a store and its file is missing. An empty store in its place would be served as if
// the folder had never held data. Gone returns nil if the store is there, or if the folder has had none.
func Gone(dir string, zone *time.Location) error {
	path := Path(dir)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // if it is damaged, opening it reports that
	}
	for _, name := range Beside {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			continue
		}
		reason := fmt.Sprintf("is missing, and %s beside it shows that there was one: restore a backup, or begin anew in an empty folder", name)
		return &engine.BadFile{Path: path, Reason: reason, Backup: NewestBackup(dir, zone)}
	}
	return nil
}

// VerifyName is the file beside the store with the result of the last check: a moment in microseconds, a blank, and the number of
// faults. A check writes nothing into the store itself.
const VerifyName = "doorward.verify"

// ReplaceSmall replaces a small file: temporary name, fsync, rename, fsync of the folder.
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
