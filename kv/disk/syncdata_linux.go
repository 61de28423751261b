package disk

import (
	"os"

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
