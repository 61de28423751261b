package table

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"doorward/kv/engine"
)

// keptBackups is how many backups a store remembers.
const keptBackups = 100

var backupsKey = []byte("backups") // in meta: lines of a moment in microseconds, a blank, and a quoted path; oldest first

// Backup is a copy of the store as a file.
type Backup struct {
	At   int64
	Path string
}

// newestName is the file beside the store that lists its backups, for the case that the store's file is lost. Its lines are those of
// the meta row.
const newestName = "doorward.backup"

func (b Backup) append(dst []byte) []byte { return fmt.Appendf(dst, "%d %q\n", b.At, b.Path) }

// parseBackup reads a line.
func parseBackup(line string) (b Backup, ok bool) {
	at, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	n, failed := strconv.ParseInt(at, 10, 64)
	path, bad := strconv.Unquote(quoted)
	return Backup{n, path}, failed == nil && bad == nil
}

// isThere tells whether a backup's file is at its path. Its disk may be unplugged.
func (b Backup) isThere() bool {
	info, err := os.Stat(b.Path)
	return err == nil && info.Mode().IsRegular()
}

// with is the row with one more backup. A backup replaces an older one with the same path.
func (b Backup) with(all []Backup) (row []byte) {
	all = slices.DeleteFunc(all, func(a Backup) bool { return a.Path == b.Path })
	for _, a := range append(all[max(0, len(all)+1-keptBackups):], b) {
		row = a.append(row)
	}
	return row
}

// NewestBackup names the newest backup of a folder's store. If its file is missing, NewestBackup also names the newest backup with a
// file. "" = no backup is known.
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

// NoteBeside adds a backup to the file beside a folder's store.
func NoteBeside(dir string, b Backup) error {
	return ReplaceSmall(dir, newestName, b.with(BackupsBeside(dir)))
}

// NoteBackup adds a backup to those that the store remembers.
func NoteBackup(o *Tx, b Backup) error {
	all, err := Backups(o.View)
	if err != nil {
		return err
	}
	o.Put(MetaBucket, backupsKey, b.with(all))
	return nil
}

// Backups are those that the store remembers, oldest first.
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
