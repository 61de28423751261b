//go:build linux || darwin || freebsd

package disk

import "syscall"

// freeBytes is what the file system of a folder has left for users other than root.
func freeBytes(dir string) (int64, error) {
	var system syscall.Statfs_t
	if err := syscall.Statfs(dir, &system); err != nil {
		return 0, err
	}
	return int64(system.Bavail) * int64(system.Bsize), nil
}
