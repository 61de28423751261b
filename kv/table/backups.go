package table

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/engine"
)

// keptBackups is how many backups a store remembers to have been made of it.
const keptBackups = 100

var backupsKey = []byte("backups") // in meta: lines of a moment in microseconds, a blank, and a quoted path; oldest first

// Backup is a file that was made of a store.
type Backup struct {
	At   int64
	Path string
}

// newestName is the file beside the store that lists its backups, in case the store's own file is lost: lines as in the meta row.
const newestName = "doorward.backup"

func (b Backup) append(dst []byte) []byte { return fmt.Appendf(dst, "%d %q\n", b.At, b.Path) }

// parseBackup reads a line that append has written.
func parseBackup(line string) (b Backup, ok bool) {
	at, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	n, failed := strconv.ParseInt(at, 10, 64)
	path, bad := strconv.Unquote(quoted)
	return Backup{n, path}, failed == nil && bad == nil
}

// isThere tells whether a backup's file still lies where it was made. It may be on a disk that is not plugged in.
func (b Backup) isThere() bool {
	info, err := os.Stat(b.Path)
	return err == nil && info.Mode().IsRegular()
}

// with returns the row after a backup was made: the lines without older ones for the same file.
func (b Backup) with(all []Backup) (row []byte) {
	all = slices.DeleteFunc(all, func(a Backup) bool { return a.Path == b.Path })
	for _, a := range append(all[max(0, len(all)+1-keptBackups):], b) {
		row = a.append(row)
	}
	return row
}

// NewestBackup says where the newest backup of a folder's store lies, and where that is not there, which is the newest that is; "" =
// none is known.
func NewestBackup(dir string, zone *time.Location) (text string) {
	for _, b := range slices.Backward(BackupsBeside(dir)) {
		name := fmt.Sprintf("%s, of %s", b.Path, time.UnixMicro(b.At).In(zone).Format(time.DateTime))
		switch there := b.isThere(); {
		case there && text == "":
			return "the newest backup known is " + name
		case there:
			return text + "; the newest that is there is " + name
		case text == "":
			text = "the newest backup known, " + name + ", is not there now"
		}
	}
	return text
}

// BackupsBeside returns the backups that the file beside a folder's store lists, oldest first.
func BackupsBeside(dir string) (all []Backup) {
	text, _ := os.ReadFile(filepath.Join(dir, newestName)) // a file that cannot be read lists none
	for line := range strings.Lines(string(text)) {
		if b, ok := parseBackup(line); ok {
			all = append(all, b)
		}
	}
	return all
}

// writeNewest has the file beside the store tell of a backup too.
func (s *Set) writeNewest(b Backup) error {
	return ReplaceSmall(s.Folder, newestName, b.with(BackupsBeside(s.Folder)))
}

// NoteBackup remembers that a file is a backup of the store as it is now. It returns *Forbidden unless p administers the whole
// store.
func (s *Set) NoteBackup(p auth.Principal, path string) error {
	if err := p.CheckRule(); err != nil {
		return err
	}
	if err := s.writeNewest(Backup{s.ClockNow().UnixMicro(), path}); err != nil {
		return err
	}
	return s.Do(false, func(o *Tx) error {
		all, err := Backups(o.View)
		if err != nil {
			return err
		}
		o.Put(MetaBucket, backupsKey, Backup{o.Now.UnixMicro(), path}.with(all))
		return nil
	})
}

func Backups(v *View) (all []Backup, err error) {
	row, err := v.Get(MetaBucket, backupsKey)
	for line := range strings.Lines(string(row)) {
		b, ok := parseBackup(line)
		if !ok {
			return nil, fmt.Errorf("%w: meta row backups", engine.ErrCorrupt)
		}
		all = append(all, b)
	}
	return all, err
}

// OlderFiles returns the files known to this store that still hold its data from before a moment. They are stores that were
// replaced, logs that were set aside, backups, and copies in folders within its own, as a copy that was cut short leaves them. Files at work are left
// out. The operator may delete the rest.
func (s *Set) OlderFiles(p auth.Principal, before time.Time) (files []string, err error) {
	if err := p.CheckRule(); err != nil {
		return nil, err
	}
	stem := strings.TrimSuffix(filepath.Base(Path(s.Dir())), ".db")
	for _, pattern := range []string{stem + "-*.db", stem + "-*.log", Path("*")} {
		found, err := filepath.Glob(filepath.Join(globQuoted(s.Dir()), pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, slices.DeleteFunc(found, disk.IsAtWork)...)
	}
	err = s.View(func(v *View) error {
		made, err := Backups(v)
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

// globQuoted is a path as a pattern that stands for nothing but itself.
func globQuoted(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

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
