//go:build unix && !linux

package kv

import (
	"io/fs"
	"syscall"
)

// inodeOf is a file's inode; 0 where it does not last.
func inodeOf(_ string, info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Ino)
	}
	return 0
}
