//go:build !unix

package folder

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// sameDisk reports whether two folders lie on one volume.
func sameDisk(one, other string) bool {
	a, errA := filepath.Abs(one)
	b, errB := filepath.Abs(other)
	return errA == nil && errB == nil && strings.EqualFold(filepath.VolumeName(a), filepath.VolumeName(b))
}

// closed: a mode tells nothing about the rights to a folder there.
func closed(fs.FileInfo) bool { return false }

// OthersRead reports false: a mode tells nothing about the rights to a file there.
func OthersRead(fs.FileInfo) bool { return false }

// foreign: other systems guard a folder by its access list alone.
func foreign(fs.FileInfo) (owner string, ok bool) { return "", false }
