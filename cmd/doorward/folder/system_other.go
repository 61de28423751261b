//go:build !unix

package folder

import "io/fs"

// closed: a mode tells nothing about the rights to a folder there.
func closed(fs.FileInfo) bool { return false }

// foreign: other systems guard a folder by its access list alone.
func foreign(fs.FileInfo) (owner string, ok bool) { return "", false }
