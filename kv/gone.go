package kv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// beside are the files that only a store makes beside its own, once that is whole and no power cut takes it away again.
var beside = [...]string{markerName, newestName, ledgerName}

// Gone answers a *BadFile where a folder had a store whose file is missing: an empty one in its place would be served as if nobody had
// ever been here. nil = the store is there, or the folder has had none.
func Gone(dir string, zone *time.Location) error {
	path := Path(dir)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // what is the matter with it is for who opens it to say
	}
	for _, name := range beside {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			continue
		}
		reason := fmt.Sprintf("is missing, and %s beside it shows that there was one: restore a backup, or begin anew in an empty folder", name)
		return &BadFile{Path: path, Reason: reason, Backup: NewestBackup(dir, zone)}
	}
	return nil
}
