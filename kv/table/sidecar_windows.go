package table

import (
	"io/fs"
	"math"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/windows"

	"doorward/kv/disk"
)

// lasting are the file systems that number a file for good.
var lasting = []string{"NTFS", "ReFS"}

// originOf is a file's number and when the file was made, in nanoseconds; 0 for what does not last or is not told.
func originOf(path string, info fs.FileInfo) (inode uint64, born int64) {
	if stat, ok := info.Sys().(*syscall.Win32FileAttributeData); ok {
		born = stat.CreationTime.Nanoseconds()
	}
	f, err := disk.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return 0, born
	}
	defer func() { _ = f.Close() }() // it was only looked at
	var told windows.ByHandleFileInformation
	name := make([]uint16, math.MaxUint8)
	h := windows.Handle(f.Fd())
	if windows.GetVolumeInformationByHandle(h, nil, 0, nil, nil, nil, &name[0], uint32(len(name))) != nil ||
		!slices.Contains(lasting, windows.UTF16ToString(name)) || windows.GetFileInformationByHandle(h, &told) != nil {
		return 0, born
	}
	return uint64(told.FileIndexHigh)<<32 | uint64(told.FileIndexLow), born
}
