package disk

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

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
