package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	disk := f.Disk
	return table.Config{Dir: f.Dir, Zone: f.Zone, Built: f.Built, Machine: f.Machine, Disk: &disk}
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
		return console.Usage(fmt.Errorf("--data %w", backup.Named(f.Dir, err)))
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
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if entries, err := os.ReadDir(f.Dir); err != nil || len(entries) > 0 && !f.HasStore() {
		return err // a folder with other files may be a home
	}
	if disk.ReadOnly(f.Dir) {
		return nil
	}
	return os.Chmod(f.Dir, ownerOnly)
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

// Busy says that another process has the folder's store open.
func Busy(dir string) error {
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
