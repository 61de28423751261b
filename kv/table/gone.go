package table

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"doorward/kv/engine"
	"doorward/kv/ledger"
)

// Beside are the files that only a store makes beside its own, once that is whole and no power cut takes it away again.
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
