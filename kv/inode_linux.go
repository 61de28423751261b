package kv

import (
	"io/fs"
	"slices"
	"syscall"
)

// fleeting are the file systems that number their files as they meet them: FAT, exFAT, FUSE, SMB and CIFS, 9P, VirtualBox.
var fleeting = []uint32{0x4d44, 0x2011bab0, 0x65735546, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x786f4256}

// inodeOf is a file's inode; 0 where it does not last.
func inodeOf(path string, info fs.FileInfo) uint64 {
	var system syscall.Statfs_t
	if err := syscall.Statfs(path, &system); err != nil || slices.Contains(fleeting, uint32(system.Type)) {
		return 0
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Ino)
	}
	return 0
}
