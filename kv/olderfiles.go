package kv

import (
	"errors"
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

// newestName is the file beside the store that tells of its newest backup, for when the store's own file cannot: a line as in
// the meta row.
const newestName = "doorward.backup"

func (b backup) append(dst []byte) []byte { return fmt.Appendf(dst, "%d %q\n", b.at, b.path) }

// parseBackup reads such a line.
func parseBackup(line string) (b backup, ok bool) {
	at, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	n, failed := strconv.ParseInt(at, 10, 64)
	path, bad := strconv.Unquote(quoted)
	return backup{n, path}, failed == nil && bad == nil
}

// NewestBackup says where the newest backup of a folder's store lies, in one sentence; "" = none is known. Whether it is still there
// is for who reads it to look: it may lie on a disk that is in a drawer.
func NewestBackup(dir string, zone *time.Location) string {
	line, err := os.ReadFile(filepath.Join(dir, newestName))
	if err != nil {
		return ""
	}
	b, ok := parseBackup(string(line))
	if !ok {
		return ""
	}
	return fmt.Sprintf("the newest backup known is %s, of %s", b.path, time.UnixMicro(b.at).In(zone).Format(time.DateTime))
}

// writeNewest has the file beside the store tell of a backup.
func (s *Store) writeNewest(b backup) error {
	f, err := os.CreateTemp(s.dir, ".doorward-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b.append(nil))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(s.dir, newestName))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one to tell
		return err
	}
	return syncDir(s.dir)
}

// NoteBackup remembers that a file holds what the store holds now: *Forbidden.
func (s *Store) NoteBackup(p Principal, path string) error {
	if err := p.mayRule(); err != nil {
		return err
	}
	if err := s.writeNewest(backup{s.clock().UnixMicro(), path}); err != nil {
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
			row = b.append(row)
		}
		o.put(metaBucket, backupsKey, row)
		return nil
	})
}

func (v *sight) backups() (all []backup, err error) {
	row, err := v.get(metaBucket, backupsKey)
	for line := range strings.Lines(string(row)) {
		b, ok := parseBackup(line)
		if !ok {
			return nil, fmt.Errorf("%w: meta row backups", ErrCorrupt)
		}
		all = append(all, b)
	}
	return all, err
}

// OlderFiles are the files known to this store that still hold what it held before a moment: the stores whose place another took,
// backups, and copies in folders within its own, as one that was cut short leaves. They are the operator's to delete.
func (s *Store) OlderFiles(p Principal, before time.Time) (files []string, err error) {
	if err := p.mayRule(); err != nil {
		return nil, err
	}
	stem := strings.TrimSuffix(filepath.Base(Path(s.Dir())), ".db")
	for _, pattern := range []string{stem + "-*.db", Path("*")} {
		found, err := filepath.Glob(filepath.Join(globQuoted(s.Dir()), pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	err = s.view(func(v *sight) error {
		made, err := v.backups()
		for _, b := range made {
			if info, err := os.Stat(b.path); err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
				files = append(files, b.path)
			}
		}
		return err
	})
	slices.Sort(files)
	return slices.Compact(files), err
}

// globQuoted is a path as a pattern that stands for nothing but itself.
func globQuoted(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
