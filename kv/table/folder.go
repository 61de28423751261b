package table

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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

// keptBackups is how many backups a store remembers.
const keptBackups = 100

var backupsKey = []byte("backups") // in meta: lines of a moment in microseconds, a blank, and a quoted path; oldest first

// Backup is a copy of the store as a file.
type Backup struct {
	At   time.Time // zero = there was none
	Path string
}

// newestName is the file beside the store that lists its backups, for the case that the store's file is lost. Its lines are those of
// the meta row.
const newestName = "doorward.backup"

func (b Backup) append(dst []byte) []byte {
	return fmt.Appendf(dst, "%d %q\n", b.At.UnixMicro(), b.Path)
}

// parseBackup reads a line.
func parseBackup(line string) (b Backup, ok bool) {
	at, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	n, failed := strconv.ParseInt(at, 10, 64)
	path, bad := strconv.Unquote(quoted)
	return Backup{time.UnixMicro(n), path}, failed == nil && bad == nil
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
		name := fmt.Sprintf("%s, of %s", b.Path, b.At.In(zone).Format(time.DateTime))
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

// Blamed is an error of a store, by the name of the file that is the cause and the newest backup of what is in it.
func Blamed(c Config, err error) error {
	if errors.Is(err, ErrNewerFormat) {
		return fmt.Errorf("the file %s: %w", Path(c.Dir), err)
	}
	err = engine.Blamed(Path(c.Dir), err)
	var bad *engine.BadFile
	if errors.As(err, &bad) {
		bad.Backup = NewestBackup(c.Dir, c.Zone)
	}
	return err
}

// Blamed is an error of the store in words for the owner of its file: damage comes as a *BadFile.
func (s *Set) Blamed(err error) error {
	return Blamed(Config{Dir: s.Folder.Dir, Zone: s.Clock.Zone()}, err)
}
