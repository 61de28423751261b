package folder

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"doorward/kv/disk"
	"doorward/kv/office"
	"doorward/kv/table"
)

// Socket is the control socket's name in the folder.
const Socket = "control.sock"

// Authority is the name of the local authority's file in the folder.
const Authority = "authority.pem"

// indexName is the folder of the search index.
const indexName = "index"

// isOwn reports whether the program gives a name to what it keeps in its folder.
func isOwn(name string) bool {
	return office.IsOwnName(name) || name == Socket || name == Authority || name == indexName
}

// RemoveIndex removes the search index of a folder.
func RemoveIndex(dir string) error { return os.RemoveAll(filepath.Join(dir, indexName)) }

// Clear removes what the program keeps in a folder, but for some names. The store's file goes last: a process that is killed leaves a store,
// and no folder that lost its store.
func Clear(dir string, but ...string) error {
	entries, err := os.ReadDir(dir)
	store := filepath.Base(table.Path(dir))
	for _, e := range entries {
		if name := e.Name(); name != store && isOwn(name) && !slices.Contains(but, name) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	if slices.Contains(but, store) {
		return err
	}
	return errors.Join(err, disk.SyncDir(dir), os.RemoveAll(table.Path(dir)))
}

// abandoned is the age of a file under a temporary name that no process writes any more.
const abandoned = 24 * time.Hour

// Tidy removes what a killed process left in a folder: copies of the store, and files under a temporary name.
func Tidy(dir string, log *slog.Logger) {
	entries, _ := os.ReadDir(dir) // the command that uses the folder reports the error
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !isLeft(path, e) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			log.Warn("what was left of a backup or a restore cannot be removed", slog.Any("cause", err))
		}
	}
}

// isLeft reports whether a file or work folder was left by a process that ended.
func isLeft(path string, e fs.DirEntry) bool {
	if !strings.HasPrefix(e.Name(), disk.OwnPrefix) {
		return false
	}
	if e.IsDir() {
		return disk.Abandoned(path)
	}
	info, err := e.Info()
	return err == nil && time.Since(info.ModTime()) > abandoned
}

// Missing are the folders of a path that are not there, the innermost first.
func Missing(dir string) (absent []string) {
	for {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			return absent
		}
		absent = append(absent, dir)
		dir = filepath.Dir(dir)
	}
}

// RemoveEmpty removes folders that are empty. Others stay.
func RemoveEmpty(folders []string) {
	for _, dir := range folders {
		_ = os.Remove(dir) // a folder with a file in it stays
	}
}
