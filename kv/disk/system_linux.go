package disk

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// SyncData makes the bytes of a file durable. Unlike a sync it leaves out what is not needed to read them, as the time of the last change.
func SyncData(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		for {
			if failed = unix.Fdatasync(int(fd)); failed != unix.EINTR {
				return
			}
		}
	})
	if err == nil && failed != nil {
		err = &os.PathError{Op: "fdatasync", Path: f.Name(), Err: failed}
	}
	return err
}

// push has the disk take a piece of a file, and waits for it. Unlike a sync, it neither commits the file system's journal nor flushes the
// disk's cache, for which the commits of doors would have to wait.
func push(f SyncWriter, from int64, n int) error {
	file, ok := f.(*os.File)
	if !ok {
		return f.Sync()
	}
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) { failed = unix.SyncFileRange(int(fd), from, int64(n), all) })
	if errors.Is(failed, unix.ENOSYS) || errors.Is(failed, unix.EINVAL) || errors.Is(failed, unix.ESPIPE) {
		return errors.Join(err, f.Sync()) // not on every file system
	}
	return errors.Join(err, os.NewSyscallError("sync_file_range", failed))
}

// openLeaving opens a file to shorten it; nil if it cannot be written.
func openLeaving(path string) *os.File {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil
	}
	return f
}

// isLeft tells that an open file has no name, and that no other process and no other part of this one has it open. The kernel gives a write lease
// only then.
func isLeft(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	if system, ok := info.Sys().(*syscall.Stat_t); !ok || system.Nlink > 0 {
		return false
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		return false
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	return err == nil
}

// openUnnamed makes a file without a name. It returns errors.ErrUnsupported on a file system that has none.
func openUnnamed(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, unix.O_TMPFILE|os.O_RDWR|os.O_EXCL, 0o600)
	if errors.Is(err, unix.EISDIR) { // of an old kernel
		err = errors.ErrUnsupported
	}
	return f, err
}
