package folder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"doorward/cmd/doorward/console"
	"doorward/kv/backup"
	"doorward/kv/disk"
	"doorward/kv/table"
)

// Folder is the folder of a congregation, and how its store is opened.
type Folder struct {
	Dir      string
	Timezone string // its name
	Zone     *time.Location
	Disk     disk.RoomLimits
	Quota    int64  // of each free database, in bytes; 0 = none
	Machine  string // tells this machine from others; "" = unknown
	Built    time.Time
	Command  []string // the command as it was called: the program's name and its arguments
}

// At is the same folder under another path.
func (f *Folder) At(dir string) *Folder {
	other := *f
	other.Dir = dir
	return &other
}

// StoreConfig is how the folder's store is opened.
func (f *Folder) StoreConfig() table.Config {
	disk, quota := f.Disk, f.Quota
	if quota == 0 {
		quota = -1
	}
	return table.Config{Dir: f.Dir, Zone: f.Zone, Built: f.Built, Machine: f.Machine, Disk: &disk, FreeQuota: quota}
}

// HasStore reports whether the folder has a store.
func (f *Folder) HasStore() bool { return HasStore(f.Dir) }

// HasStore reports whether a folder has a store.
func HasStore(dir string) bool { return Exists(table.Path(dir)) }

// Exists reports whether a file is there and can be looked at.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ownerOnly is the mode of the folder: only its owner may look into it.
const ownerOnly = 0o700

// Check refuses a folder of another user, and a folder that its owner may not use, with the command to use instead. It takes the rights of
// other users from a folder with a store.
func (f *Folder) Check() error {
	info, err := os.Stat(f.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return console.Usage(fmt.Errorf("the folder %w", backup.Named(f.Dir, err)))
	case !info.IsDir():
		return console.Usage(fmt.Errorf("--data %s: that is no folder", f.Dir))
	}
	if owner, ok := foreign(info); ok {
		return console.Usage(fmt.Errorf("the folder %s belongs to user %s; use: sudo -u %s %s",
			f.Dir, owner, console.Shell(owner), console.Shell(f.Command...)))
	}
	if closed(info) && !disk.ReadOnly(f.Dir) {
		return closedError(f.Dir, info)
	}
	if err := checkOwner(f.Dir); err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if entries, err := os.ReadDir(f.Dir); err != nil || len(entries) > 0 && !f.HasStore() {
		return err // a folder with other files may be a home
	}
	if disk.ReadOnly(f.Dir) {
		return nil
	}
	return disk.KeepOwn(f.Dir)
}

// checkOwner refuses a store's file that this process may not use because it belongs to another user than the folder, as after a copy by sudo.
func checkOwner(dir string) error {
	path := table.Path(dir)
	info, err := os.Stat(path)
	if err != nil {
		return nil // the command that opens the store reports it
	}
	owner, ok := foreign(info)
	if !ok {
		return nil
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		return file.Close()
	}
	if !errors.Is(err, fs.ErrPermission) {
		return nil // the command that opens the store reports it
	}
	return fmt.Errorf("the file %s belongs to user %s; use: sudo chown -R \"$(id -un)\" %s", path, owner, console.Shell(dir))
}

// CheckStore is Check for a command that uses the store or makes one. It refuses a folder that lost its store.
func (f *Folder) CheckStore() error {
	if err := f.Check(); err != nil {
		return err
	}
	return table.Gone(f.Dir, f.Zone)
}

// CheckWritable refuses a folder in which nothing can be written.
func CheckWritable(dir string) error {
	if !disk.ReadOnly(dir) {
		return nil
	}
	if info, err := os.Stat(dir); err == nil && closed(info) {
		return closedError(dir, info)
	}
	return fmt.Errorf("the folder %s lies on a disk that is read-only: there verify, export, and backup to another disk, work, and nothing else", dir)
}

func closedError(dir string, info fs.FileInfo) error {
	return fmt.Errorf("the folder %s: permission denied: its mode is %04o; use: chmod 700 %s", dir, info.Mode().Perm(), console.Shell(dir))
}

// ErrNoSocket is a server that commands cannot reach.
var ErrNoSocket = errors.New("a server runs on the folder, and no command reaches it, for its disk has no sockets: stop serve first, or use HTTP")

// MarkUnreached has commands know that a server runs on a folder in which no socket can be made: a plain file has the socket's name.
func MarkUnreached(dir string) error { return os.WriteFile(filepath.Join(dir, Socket), nil, 0o600) }

// Unreached reports whether the last server of a folder could make no socket. It may have ended, if it was killed.
func Unreached(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, Socket))
	return err == nil && info.Mode().IsRegular()
}

// Busy says that another process has the folder's store open.
func Busy(dir string) error {
	if Unreached(dir) {
		return ErrNoSocket
	}
	return fmt.Errorf("another doorward is at work on the folder %s; try again when it is done", dir)
}

// CheckOutput refuses to write a file under a name that the program keeps for itself in a store's folder, or into a folder with that name:
// the program would remove it. A backup may have the name of a store, because its manifest lies beside it.
func CheckOutput(file string) error {
	real, err := backup.Real(file)
	if err != nil {
		return backup.Named(file, err)
	}
	for at := real; at != filepath.Dir(at); at = filepath.Dir(at) {
		dir := filepath.Dir(at)
		if !isOwn(filepath.Base(at)) || !HasStore(dir) && table.Gone(dir, time.UTC) == nil {
			continue
		}
		if at != real || at != table.Path(dir) || !Exists(backup.ManifestName(at)) {
			return console.Usage(fmt.Errorf("%s is a store's own file", file))
		}
	}
	return nil
}

// Socket is the control socket's name in the folder.
const Socket = "control.sock"

// Authority is the name of the local authority's file in the folder.
const Authority = "authority.pem"

// indexName is the folder of the search index.
const indexName = "index"

// isOwn reports whether the program gives a name to what it keeps in its folder.
func isOwn(name string) bool {
	return backup.IsOwnName(name) || name == Socket || name == Authority || name == indexName
}

// Replaced are the names of the stores in a folder that were replaced, and of the logs that were set aside.
func (f *Folder) Replaced() (names []string, err error) {
	entries, err := os.ReadDir(f.Dir)
	for _, e := range entries {
		if backup.IsReplaced(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, err
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
func Tidy(dir string, log *slog.Logger) { tidy(dir, log, isLeft) }

// TidyImports removes the files of imports that a killed process left, however lately. Its caller has the store, so no other process imports.
func TidyImports(dir string, log *slog.Logger) {
	tidy(dir, log, func(_ string, e fs.DirEntry) bool {
		return e.IsDir() && disk.IsWorkFolder(e.Name(), disk.ImportPurpose)
	})
}

func tidy(dir string, log *slog.Logger, isLeft func(path string, e fs.DirEntry) bool) {
	entries, _ := os.ReadDir(dir) // the command that uses the folder reports the error
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !isLeft(path, e) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			log.Warn("what was left of a backup, a restore or an import cannot be removed", slog.Any("cause", err))
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

// CheckRoom refuses to write so many bytes to the store's disk if a server would then lack room.
func (f *Folder) CheckRoom(what string, bytes int64) error {
	return f.StoreConfig().Room().CheckFile(what, bytes)
}

// Write writes a file out of the store, as backup.Write does. On the store's own disk it stops before a server would lack room.
func (f *Folder) Write(ctx context.Context, name string, write func(io.Writer) error) (doubt string, err error) {
	if !f.sharesDisk(name) {
		return backup.Write(ctx, name, write)
	}
	if err := f.CheckRoom("an export", 0); err != nil {
		return "", err
	}
	return backup.Write(ctx, name, func(w io.Writer) error { return write(&roomWriter{w, f}) })
}

// roomWriter writes to the store's own disk while that has room.
type roomWriter struct {
	io.Writer
	folder *Folder
}

// Write writes, or returns the text of disk.ErrFull as another error: replication tries again after disk.ErrFull, and a file that is
// half written must not be continued.
func (w *roomWriter) Write(b []byte) (int, error) {
	if err := w.folder.CheckRoom("an export", int64(len(b))); err != nil {
		return 0, errors.New(err.Error())
	}
	return w.Writer.Write(b)
}

// sharesDisk reports whether a file to write lies on the folder's disk. A pipe or another device takes no room.
func (f *Folder) sharesDisk(file string) bool {
	if info, err := os.Stat(file); err == nil {
		if real, err := filepath.EvalSymlinks(file); err == nil {
			file = real
		}
		if !info.Mode().IsRegular() {
			return false
		}
	}
	return disk.IsSame(f.Dir, filepath.Dir(file))
}
