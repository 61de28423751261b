package kv

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// keptBackups is how many backups a store remembers to have been made of it.
const keptBackups = 100

var backupsKey = []byte("backups") // in meta: lines of a moment in microseconds, a blank, and a quoted path; oldest first

// backup is a file that was made of a store.
type backup struct {
	at   int64
	path string
}

// NoteBackup remembers that a file holds what the store holds now: *Forbidden.
func (s *Store) NoteBackup(p Principal, path string) error {
	if err := p.mayRule(); err != nil {
		return err
	}
	return s.do(false, func(o *op) error {
		all, err := o.backups()
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(b backup) bool { return b.path == path })
		all = append(all, backup{o.now.UnixMicro(), path})
		var row []byte
		for _, b := range all[max(0, len(all)-keptBackups):] {
			row = fmt.Appendf(row, "%d %q\n", b.at, b.path)
		}
		o.put(metaBucket, backupsKey, row)
		return nil
	})
}

func (v *sight) backups() (all []backup, err error) {
	row, err := v.get(metaBucket, backupsKey)
	for line := range strings.Lines(string(row)) {
		at, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, failed := strconv.ParseInt(at, 10, 64)
		path, bad := strconv.Unquote(quoted)
		if failed != nil || bad != nil {
			return nil, fmt.Errorf("%w: meta row backups", ErrCorrupt)
		}
		all = append(all, backup{n, path})
	}
	return all, err
}

// OlderFiles are the files known to this store that still hold what it held before a moment: the stores whose place another took,
// and backups. They are the operator's to delete.
func (s *Store) OlderFiles(p Principal, before time.Time) (files []string, err error) {
	if err := p.mayRule(); err != nil {
		return nil, err
	}
	stem := strings.TrimSuffix(filepath.Base(Path(s.Dir())), ".db")
	kept, err := filepath.Glob(filepath.Join(globQuoted(s.Dir()), stem+"-*.db"))
	if err != nil {
		return nil, err
	}
	err = s.view(func(v *sight) error {
		made, err := v.backups()
		for _, b := range made {
			if info, err := os.Stat(b.path); err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
				kept = append(kept, b.path)
			}
		}
		return err
	})
	slices.Sort(kept)
	return slices.Compact(kept), err
}

// globQuoted is a path as a pattern that stands for nothing but itself.
func globQuoted(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
