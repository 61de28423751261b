package table

import (
	"io/fs"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// fleeting are the file systems that number their files as they meet them: FAT, exFAT, FUSE, SMB and CIFS, 9P, VirtualBox.
var fleeting = []uint32{0x4d44, 0x2011bab0, 0x65735546, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x786f4256}

// originOf is a file's inode and when the file was made, in nanoseconds; 0 for what does not last or is not told.
func originOf(path string, info fs.FileInfo) (inode uint64, born int64) {
	var system syscall.Statfs_t
	if err := syscall.Statfs(path, &system); err != nil || slices.Contains(fleeting, uint32(system.Type)) {
		return 0, 0
	}
	var told unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME, &told)
	if err == nil && told.Mask&unix.STATX_BTIME != 0 {
		born = told.Btime.Sec*1e9 + int64(told.Btime.Nsec)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = uint64(stat.Ino)
	}
	return inode, born
}
