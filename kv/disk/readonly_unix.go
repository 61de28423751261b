//go:build unix

package disk

import "golang.org/x/sys/unix"

// ReadOnly tells that nothing can be written in a folder that is there: its disk is mounted so, or its mode forbids it.
func ReadOnly(dir string) bool {
	err := unix.Access(dir, unix.W_OK)
	return err == unix.EROFS || err == unix.EACCES && unix.Access(dir, unix.R_OK|unix.X_OK) == nil
}
