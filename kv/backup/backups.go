package backup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/table"
)

// NoteBackup remembers that a file is a backup of the store as it is now. It returns *Forbidden unless p administers the whole
// store.
func (kp *Keeper) NoteBackup(p auth.Principal, path string) error {
	if err := p.CheckRule(); err != nil {
		return err
	}
	if err := table.NoteBeside(kp.tables.Folder.Dir, table.Backup{At: kp.tables.Clock.Now().UnixMicro(), Path: path}); err != nil {
		return err
	}
	return kp.tables.Do(func(o *table.Tx) error {
		return table.NoteBackup(o, table.Backup{At: o.Now.UnixMicro(), Path: path})
	})
}

// OlderFiles lists the files known to this store that still hold its data from before a time: stores that were replaced, logs that were set
// aside, backups, and copies in work folders that a killed process left. It leaves out files in use. The operator may delete the others.
func (kp *Keeper) OlderFiles(p auth.Principal, before time.Time) (files []string, err error) {
	if err := p.CheckRule(); err != nil {
		return nil, err
	}
	dir := kp.tables.Folder.Dir
	stem := strings.TrimSuffix(filepath.Base(table.Path(dir)), ".db")
	for _, pattern := range []string{stem + "-*.db", stem + "-*.log", table.Path("*")} {
		found, err := filepath.Glob(filepath.Join(globQuoted(dir), pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, slices.DeleteFunc(found, disk.IsAtWork)...)
	}
	err = kp.tables.View(func(v *table.View) error {
		made, err := table.Backups(v)
		for _, b := range made {
			if info, err := os.Stat(b.Path); err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
				files = append(files, b.Path)
			}
		}
		return err
	})
	slices.Sort(files)
	return slices.Compact(files), err
}

// globQuoted is a path as a pattern that matches this path alone.
func globQuoted(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
