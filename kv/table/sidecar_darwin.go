package table

import (
	"io/fs"
	"syscall"
)

// originOf is a file's inode and when the file was made, in nanoseconds; 0 for what is not told.
func originOf(_ string, info fs.FileInfo) (inode uint64, born int64) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		inode, born = stat.Ino, stat.Birthtimespec.Nano()
	}
	return inode, born
}
