//go:build unix

package main

import (
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// sameDisk tells whether two folders lie on one file system.
func sameDisk(one, other string) bool {
	var a, b syscall.Stat_t
	return syscall.Stat(one, &a) == nil && syscall.Stat(other, &b) == nil && a.Dev == b.Dev
}

// closed tells a folder of ours that we may not use.
func closed(info fs.FileInfo) bool {
	return os.Geteuid() != 0 && info.Mode().Perm()&folderMode != folderMode
}

// foreign tells a folder of another user, and whose it is.
func foreign(info fs.FileInfo) (owner string, ok bool) {
	stat, is := info.Sys().(*syscall.Stat_t)
	if !is || int(stat.Uid) == os.Geteuid() {
		return "", false
	}
	id := strconv.FormatUint(uint64(stat.Uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username, true
	}
	return "#" + id, true
}
