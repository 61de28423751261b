package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// OwnPrefix begins the names of temporary files beside a store's: no user gives a file this name.
const OwnPrefix = ".doorward-"

// MakeFolder makes a folder, and those above it, unless it is there. No power cut takes away what it made.
func MakeFolder(dir string) error {
	above := filepath.Dir(dir)
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) && above != dir {
		if err := MakeFolder(above); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if err == nil {
		return SyncDir(above)
	}
	info, failed := os.Stat(dir)
	switch {
	case failed == nil && info.IsDir():
		return nil
	case errors.Is(err, fs.ErrExist) && errors.Is(failed, fs.ErrNotExist):
		return fmt.Errorf("%s is a link to a folder that is not there", dir)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission): // it was removed just now, or is the kernel's; or it is closed
		return fmt.Errorf("no folder %s can be made in %s: %w", filepath.Base(dir), above, errors.Unwrap(err))
	}
	return err
}

// Size is a file's length in bytes; 0 where there is none.
func Size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// SyncDir makes the names in a folder durable. A folder that the system does not let a program sync is left to it. On a disk that syncs no
// folders the error is ErrUnfit.
func SyncDir(dir string) error {
	d, err := OpenFolder(filepath.Clean(dir))
	if cannotSync(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err = d.Sync(); syncsNone(err) {
		err = &Unfit{dir, "it does not sync folders"}
	}
	return errors.Join(err, d.Close())
}

// ErrUnfit is a disk that lacks what a store needs, as those of other machines, sticks and encrypted folders may. What leaves a store can lie
// there. The concrete error is an *Unfit.
var ErrUnfit = errors.New("the disk can hold no store")

// Unfit is the ErrUnfit of a folder.
type Unfit struct{ Dir, Why string }

func (u *Unfit) Error() string {
	return fmt.Sprintf("the folder %s lies on a disk that can hold no store: %s; use a folder on a disk of this computer", u.Dir, u.Why)
}

// Is makes an Unfit an ErrUnfit.
func (u *Unfit) Is(target error) bool { return target == ErrUnfit }

// KeepOwn takes the rights to a folder from all but its owner. On a disk that changes no modes the error is ErrUnfit.
func KeepOwn(dir string) error {
	if info, err := os.Stat(dir); err == nil && !OthersRead(info) {
		return nil
	}
	err := os.Chmod(dir, 0o700)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		return &Unfit{dir, "it changes no modes, and others could read the store"}
	}
	return err
}

// MakeWorkFolder makes a folder within a store's for a copy that is worked at, or for the files of an import, and done takes it away. It is
// locked until then, so that it can be told from what a killed process has left.
func MakeWorkFolder(dir, purpose string) (path string, done func() error, err error) {
	path, err = os.MkdirTemp(dir, OwnPrefix+purpose+"-")
	if err != nil {
		return "", nil, err
	}
	free, err := lockFolder(path)
	if err != nil {
		free = func() {} // its age tells that it is in use
	}
	return path, func() error {
		free()
		return RemoveAll(path)
	}, nil
}

// ImportPurpose is the purpose of an import's work folder. The process that has the store makes it.
const ImportPurpose = "import"

// IsWorkFolder tells a name that MakeWorkFolder gives.
func IsWorkFolder(name, purpose string) bool {
	number, found := strings.CutPrefix(name, OwnPrefix+purpose+"-")
	return found && number != "" && strings.Trim(number, "0123456789") == ""
}

// abandonedFrom is how old an abandoned work folder is: it is locked as soon as it is made.
const abandonedFrom = time.Minute

// Abandoned tells whether the process that made a work folder has ended.
func Abandoned(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || time.Since(info.ModTime()) < abandonedFrom {
		return false
	}
	free, err := lockFolder(dir)
	if err == nil {
		free()
	}
	return err == nil
}

// IsAtWork tells a file in a work folder that is in use, and will be taken away.
func IsAtWork(file string) bool {
	dir := filepath.Dir(file)
	return strings.HasPrefix(filepath.Base(dir), OwnPrefix) && !Abandoned(dir)
}

// ErrInUse is a file that another process has locked.
var ErrInUse = errors.New("the store is open in another process")

// LockWithin is Lock that waits for another process to let go of the file.
func LockWithin(f *os.File, patience time.Duration) error {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if err := Lock(f); !errors.Is(err, ErrInUse) || time.Now().After(end) {
			return err
		}
	}
}
