package disk

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// shared lets others use a file while it is open, and give it another name.
const shared = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE

// OpenFolder opens a folder that is to be synced: the system syncs only what is open for writing.
func OpenFolder(dir string) (*os.File, error) {
	return open(filepath.Clean(dir), windows.GENERIC_READ|windows.GENERIC_WRITE, shared, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS)
}

// syncsNone: the journal of the file system keeps names.
func syncsNone(error) bool { return false }

// OthersRead reports false: a mode tells nothing about the rights to a file here.
func OthersRead(fs.FileInfo) bool { return false }

// cannotSync tells that a folder may only be read, as the root of a disk: the journal of the file system keeps its names.
func cannotSync(err error) bool { return errors.Is(err, windows.ERROR_ACCESS_DENIED) }

// OpenFile is os.OpenFile for a file that may get another name while it is open, or lose its own. It knows O_RDONLY, O_RDWR, O_CREATE and O_EXCL.
func OpenFile(name string, flag int, _ os.FileMode) (*os.File, error) {
	access, how := uint32(windows.GENERIC_READ), uint32(windows.OPEN_EXISTING)
	if flag&os.O_RDWR != 0 {
		access |= windows.GENERIC_WRITE
	}
	switch {
	case flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL:
		how = windows.CREATE_NEW
	case flag&os.O_CREATE != 0:
		how = windows.OPEN_ALWAYS
	}
	return open(name, access, shared, how, windows.FILE_ATTRIBUTE_NORMAL)
}

func open(name string, access, share, how, attributes uint32) (*os.File, error) {
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	h, err := windows.CreateFile(path, access, share, nil, how, attributes, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(h), name), nil
}

// Unnamed makes a file in a folder that only this user can read. It is gone once it is closed.
func Unnamed(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, OwnPrefix+"unnamed-*") // it draws the name
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, err
	}
	return open(f.Name(), windows.GENERIC_READ|windows.GENERIC_WRITE, 0, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_TEMPORARY|windows.FILE_FLAG_DELETE_ON_CLOSE)
}

// aside is the name of a file until it is closed and another one has its name.
func aside(path string) string { return path + ".replaced" }

// Replace gives a file the name of another one, which OpenFile may have opened. The caller calls Replaced when the other one is closed. The system does not
// take the name of a file that is open, but gives it another one.
func Replace(from, to string) error {
	if err := os.Rename(to, aside(to)); err != nil {
		return err
	}
	err := os.Rename(from, to)
	if err != nil {
		err = errors.Join(err, os.Rename(aside(to), to))
	}
	return err
}

// Replaced ends a Replace, also one that a crash has cut short: at every moment one of the two files has the name, or can take it.
func Replaced(path string) error {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.Rename(aside(path), path)
	} else if err == nil {
		err = os.Remove(aside(path))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Lock takes the lock of an open file until it is closed: ErrInUse where another process has it. It is the lock of bbolt, of a byte that no file reaches.
func Lock(f *os.File) error {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxUint32})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrInUse
	}
	return err
}

// lockFolder takes the lock of a folder until free is called or the process ends: as Lock. The system locks no folder, but it refuses the right to
// remove one while a program has it open that does not share that right.
func lockFolder(dir string) (free func(), err error) {
	f, err := open(dir, windows.DELETE, shared, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS)
	if errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
		return nil, ErrInUse
	}
	if err == nil {
		err = f.Close() // others may read the folder while it is locked
	}
	if err != nil {
		return nil, err
	}
	f, err = open(dir, windows.GENERIC_READ, shared&^windows.FILE_SHARE_DELETE, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS)
	return func() { _ = f.Close() }, err // it was only locked
}

// freeBytes is what the volume of a folder has left for this user.
func freeBytes(dir string) (int64, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return int64(free), err
}

// AddressLimit is 0: this system sets no limit of addresses.
func AddressLimit() int64 { return 0 }

// addressesTaken is not asked here.
func addressesTaken() int64 { return 0 }

// IsSame reports whether two folders lie on one volume.
func IsSame(one, other string) bool {
	a, errA := filepath.Abs(one)
	b, errB := filepath.Abs(other)
	return errA == nil && errB == nil && strings.EqualFold(filepath.VolumeName(a), filepath.VolumeName(b))
}

// ReadOnly tells nothing here: a write meets the error.
func ReadOnly(string) bool { return false }

// Map maps no file here: the caller reads it.
func Map(*os.File, int64) (data []byte, unmap func() error, err error) {
	return nil, nil, errors.ErrUnsupported
}
