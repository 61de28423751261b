//go:build linux || darwin || freebsd

package disk

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// OpenFolder opens a folder that is to be synced.
func OpenFolder(dir string) (*os.File, error) { return os.Open(dir) }

// syncsNone reports whether the sync of a folder failed because the disk syncs none.
func syncsNone(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOTTY)
}

// OthersRead reports whether users other than its owner may read or change a file.
func OthersRead(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }

// cannotSync tells that a folder is open to others alone: here each that can be read can be synced.
func cannotSync(error) bool { return false }

// OpenFile is os.OpenFile for a file that may get another name while it is open, or lose its own.
func OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

// Replace gives a file the name of another one, which OpenFile may have opened. The caller calls Replaced when the other one is closed.
func Replace(from, to string) error { return os.Rename(from, to) }

// Replaced ends a Replace, also one that a crash has cut short: at every moment one of the two files has the name.
func Replaced(string) error { return nil }

// Lock takes the lock of an open file until it is closed: ErrInUse where another process has it, ErrUnfit on a disk that locks none.
func Lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return ErrInUse
	case errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.ENOSYS):
		return &Unfit{filepath.Dir(f.Name()), "it locks no files"}
	}
	return err
}

// lockFolder takes the lock of a folder until free is called or the process ends: as Lock.
func lockFolder(dir string) (free func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := Lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // it was only locked
}

// freeBytes is what the file system of a folder has left for users other than root. One without blocks does not say.
func freeBytes(dir string) (int64, error) {
	var system syscall.Statfs_t
	if err := syscall.Statfs(dir, &system); err != nil {
		return 0, err
	}
	if system.Blocks == 0 {
		return 0, errors.ErrUnsupported
	}
	return int64(system.Bavail) * int64(system.Bsize), nil
}

// AddressLimit is how many bytes of addresses this process may have, as ulimit -v and LimitAS set it; 0 = as many as there are.
func AddressLimit() int64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil || uint64(limit.Cur) > math.MaxInt64 {
		return 0
	}
	return int64(limit.Cur)
}

// addressesTaken is how many bytes of addresses this process has; 0 = not known.
func addressesTaken() int64 {
	text, _ := os.ReadFile("/proc/self/statm") // only Linux has it
	pages, _, _ := strings.Cut(string(text), " ")
	n, _ := strconv.ParseInt(pages, 10, 64)
	return n * int64(os.Getpagesize())
}

// IsSame reports whether two folders lie on one file system.
func IsSame(one, other string) bool {
	var a, b syscall.Stat_t
	return syscall.Stat(one, &a) == nil && syscall.Stat(other, &b) == nil && a.Dev == b.Dev
}

// ReadOnly tells that nothing can be written in a folder that is there: its disk is mounted so, or its mode forbids it.
func ReadOnly(dir string) bool {
	err := unix.Access(dir, unix.W_OK)
	return err == unix.EROFS || err == unix.EACCES && unix.Access(dir, unix.R_OK|unix.X_OK) == nil
}

// Map maps the first bytes of a file, to be read until unmap is called. What cannot be read then is a fault of the memory: see
// debug.SetPanicOnFault.
func Map(f *os.File, size int64) (data []byte, unmap func() error, err error) {
	if int64(int(size)) != size {
		return nil, nil, syscall.EFBIG
	}
	if data, err = syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED); err != nil {
		return nil, nil, err
	}
	return data, func() error { return syscall.Munmap(data) }, nil
}

// Unnamed makes a file in a folder that no name leads to and that only this user can read. It is gone once it is closed.
func Unnamed(dir string) (*os.File, error) {
	f, err := openUnnamed(dir)
	if !errors.Is(err, errors.ErrUnsupported) {
		return f, err
	}
	if f, err = os.CreateTemp(dir, OwnPrefix+"unnamed-*"); err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
