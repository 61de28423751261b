//go:build unix

package folder

import (
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// closed reports whether the owner of a folder may not use it.
func closed(info fs.FileInfo) bool {
	return os.Geteuid() != 0 && info.Mode().Perm()&ownerOnly != ownerOnly
}

// foreign reports whether a folder belongs to another user, and the name of that user.
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
