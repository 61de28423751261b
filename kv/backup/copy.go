package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"doorward/kv/auth"
	"doorward/kv/crash"
	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/merge"
	"doorward/kv/table"
)

// Copied tells what a copy of a store holds.
type Copied struct {
	Realm string    `json:"realm"`
	Node  string    `json:"node"`
	Epoch string    `json:"epoch"`
	Seq   uint64    `json:"seq"` // of the latest change in it
	At    time.Time `json:"at"`
	Bytes int64     `json:"bytes"`
}

// CopyTo writes the store as it is now to a new file of mode 0600, durably. It holds a View while it writes. During this time
// freed pages are not used again, and no commit remaps the file. So path lies best in the store's folder, and on another disk if the store's
// own has no room for it. It returns *Forbidden unless p administers the store.
func (kp *Keeper) CopyTo(p auth.Principal, path string) (c Copied, err error) {
	if err := p.CheckRule(); err != nil {
		return Copied{}, err
	}
	if dir := kp.tables.Folder.Dir; !kp.tables.Folder.ReadOnly && disk.IsSame(dir, filepath.Dir(path)) {
		if err := kp.tables.Folder.Room.CheckFile("a copy of the store", disk.Size(table.Path(dir))); err != nil {
			return Copied{}, err
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return Copied{}, err
	}
	c.Bytes, err = kp.tables.Engine.CopyTo(f, func(v *engine.View) error { return kp.describe(v, &c) })
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = disk.Remove(path) // the first error is the one to tell
		return Copied{}, fmt.Errorf("copy the store: %w", err)
	}
	if err := disk.SyncDir(filepath.Dir(path)); !errors.Is(err, disk.ErrUnfit) {
		return c, err
	}
	return c, nil // Put says what the disk lacks
}

// describe reads out of a View which store it is and where it stands.
func (kp *Keeper) describe(v *engine.View, c *Copied) error {
	seq, err := table.Sequence(&table.View{View: v})
	if err != nil {
		return err
	}
	epoch, err := v.Get(table.MetaBucket, table.EpochKey)
	*c = Copied{Realm: kp.tables.Identity.Realm(), Node: kp.tables.Identity.Node(), Epoch: string(epoch), Seq: seq, At: kp.tables.Clock.Now().UTC().Truncate(time.Microsecond)}
	return err
}

// ReplaceStore is ReplaceSeen for the store that the folder has now.
func ReplaceStore(dir, file string, now time.Time, log *slog.Logger) (kept string, err error) {
	seen, err := os.Stat(table.Path(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return ReplaceSeen(dir, file, seen, now, log)
}

// openStays tells that a file which is open cannot be replaced on this system.
const openStays = runtime.GOOS == "windows"

// lockPatience is how long a replacement waits for the lock of the old store. A process that another one starts has its open files, and so its locks, for a
// moment.
const lockPatience = time.Second

// ReplaceSeen puts a file in the place of a folder's store. It keeps the old store beside it and returns that file's name, ""
// if there was none. Ids that the old store has given are not given again. At every moment the folder has a whole store. seen
// is the store's file when the caller found that it may be replaced, nil if there was none. ReplaceSeen returns ErrInUse if the
// file is another one by now, or was written since.
func ReplaceSeen(dir, file string, seen fs.FileInfo, now time.Time, log *slog.Logger) (kept string, err error) {
	path := table.Path(dir)
	if seen == nil {
		return "", errors.Join(linkNew(file, path), disk.SyncDir(dir))
	}
	old, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	closeOld := sync.OnceValue(old.Close)
	defer func() { err = errors.Join(err, closeOld()) }() // this releases the lock
	if seen, err = foldLog(path, seen, log); err != nil {
		return "", err
	}
	if err := merge.CarryMarks(path, file, now, log); err != nil {
		return "", err
	}
	if err := disk.LockWithin(old, lockPatience); err != nil {
		return "", err
	}
	mine, err := old.Stat()
	if there, failed := os.Stat(path); err != nil || failed != nil || !isUntouched(seen, mine) || !os.SameFile(mine, there) {
		return "", errors.Join(disk.ErrInUse, err, failed) // another process has used the store since
	}
	if kept, err = keepBeside(path, now); err != nil {
		return "", err
	}
	if err := disk.SyncDir(dir); err != nil { // a power cut may lose this name and keep the next
		return "", err
	}
	if openStays {
		if err := closeOld(); err != nil {
			return "", err
		}
	}
	crash.At(crash.BeforeReplace)
	err = os.Rename(file, path)
	crash.At(crash.AfterReplace)
	return kept, errors.Join(err, disk.SyncDir(dir))
}

// foldLog folds the log of a store that was not stopped into its file, so that the file alone is whole, and returns the file's info after
// that. If the log is damaged, the file stays as it is; the next store that opens in the folder sets that log aside.
func foldLog(path string, seen fs.FileInfo, log *slog.Logger) (fs.FileInfo, error) {
	now, err := os.Stat(path)
	if err != nil || !isUntouched(seen, now) {
		return nil, errors.Join(disk.ErrInUse, err) // as below
	}
	err = engine.Settle(path, &table.Schema)
	switch {
	case errors.Is(err, disk.ErrInUse):
		return nil, err
	case err != nil:
		log.Warn("the store that is replaced cannot be opened: its latest changes stay in its log", slog.Any("cause", err))
	}
	return os.Stat(path)
}

// isUntouched tells whether a file is the same that was seen, and was not written since.
func isUntouched(seen, now fs.FileInfo) bool {
	return os.SameFile(seen, now) && seen.ModTime().Equal(now.ModTime())
}

// linkNew gives a file a new name. It returns ErrInUse if another file has it. On a file system without hard links it replaces
// a file that gets the name at the same moment.
func linkNew(file, path string) error {
	err := os.Link(file, path)
	if err == nil {
		return os.Remove(file)
	}
	if _, there := os.Lstat(path); errors.Is(err, fs.ErrExist) || there == nil {
		return disk.ErrInUse
	}
	return os.Rename(file, path)
}

// keepBeside gives a file a second name that has the time in it.
func keepBeside(path string, now time.Time) (name string, err error) {
	stem := strings.TrimSuffix(path, filepath.Ext(path)) + "-" + now.UTC().Format("20060102T150405Z")
	name = stem + filepath.Ext(path)
	for i := 2; ; i++ {
		err = os.Link(path, name)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
		name = stem + "-" + strconv.Itoa(i) + filepath.Ext(path)
	}
	if err != nil { // a file system without hard links
		err = os.Rename(path, name)
	}
	return name, err
}

// replacedName is the name of a store that was replaced (keepBeside), and of a log that was set aside.
var replacedName = regexp.MustCompile(`^doorward-[0-9]{8}T[0-9]{6}Z(-[0-9]+)?\.(db|log)$`)

// IsReplaced tells whether a store that was replaced, or a log that was set aside, has this name.
func IsReplaced(name string) bool { return replacedName.MatchString(name) }

// IsOwnName tells whether only a store gives this name to a file in its folder. No other file may have it there.
func IsOwnName(name string) bool {
	return name == filepath.Base(table.Path("")) || engine.IsOwnName(name) || name == table.VerifyName || slices.Contains(table.Beside[:], name) ||
		IsReplaced(name) || strings.HasPrefix(name, disk.OwnPrefix)
}

// Compacted tells how large a store's file was, and is.
type Compacted struct {
	Before int64 `json:"bytes_before"`
	Bytes  int64 `json:"bytes"`
}

// Compact writes the store's file again, without the free pages. No byte of what was deleted or erased before is left in it.
// The store can be read and written while Compact runs (engine.DB.Rewrite). If a row is damaged, the old file stays, with what
// can be read of it, and Compact returns *BadFile. It returns *Forbidden unless p administers the whole store.
func (kp *Keeper) Compact(ctx context.Context, p auth.Principal) (c Compacted, err error) {
	if err := p.CheckRule(); err != nil {
		return c, err
	}
	start := time.Now()
	c.Before = disk.Size(table.Path(kp.tables.Folder.Dir))
	if err = kp.tables.Engine.Rewrite(ctx, table.NoteCompacted); err != nil {
		return c, fmt.Errorf("compact: %w", kp.tables.Blamed(err))
	}
	c.Bytes = disk.Size(table.Path(kp.tables.Folder.Dir))
	kp.tables.Log.Info("the store is compacted", slog.Int64("before", c.Before), slog.Int64("bytes", c.Bytes), slog.Duration("took", time.Since(start)))
	return c, nil
}

// NoteBackup remembers that a file is a backup of the store as it is now. It returns *Forbidden unless p administers the whole
// store.
func (kp *Keeper) NoteBackup(p auth.Principal, path string) error {
	if err := p.CheckRule(); err != nil {
		return err
	}
	if err := table.NoteBeside(kp.tables.Folder.Dir, table.Backup{At: kp.tables.Clock.Now(), Path: path}); err != nil {
		return err
	}
	return kp.tables.Do(func(o *table.Tx) error {
		return table.NoteBackup(o, table.Backup{At: o.Now, Path: path})
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
	beside := table.BackupsBeside(dir) // a restore leaves this list, and goes back to an earlier one in the store
	err = kp.tables.View(func(v *table.View) error {
		made, err := table.Backups(v)
		for _, b := range append(beside, made...) {
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

// turnPause is the time between two looks for a turn, or for the reader of a pipe.
const turnPause = 50 * time.Millisecond

// pause waits for a moment, or until ctx ends.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(turnPause):
	}
}

// takeTurn waits until no other process puts a backup into a folder, and keeps others out until free is called. On a system without
// locks there are no turns.
func takeTurn(ctx context.Context, dir string) (free func(), err error) {
	name := filepath.Join(dir, disk.OwnPrefix+"turn")
	for ctx.Err() == nil {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		free = func() {
			_ = os.Remove(name) // an empty file may stay; while it is locked it is ours
			_ = f.Close()
		}
		if err := disk.Lock(f); !errors.Is(err, disk.ErrInUse) && hasName(f, name) {
			return free, nil
		}
		_ = f.Close() // another process has the turn
		pause(ctx)
	}
	return nil, ctx.Err()
}

// hasName reports whether an open file still has a name.
func hasName(f *os.File, name string) bool {
	mine, err := f.Stat()
	there, failed := os.Stat(name)
	return err == nil && failed == nil && os.SameFile(mine, there)
}
