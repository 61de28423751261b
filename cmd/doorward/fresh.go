package main

import (
	"os"
	"path/filepath"

	"doorward/kv"
)

// fresh is a store that a command has made, in a folder that had none. What fails before there is anything in it leaves no trace.
type fresh struct {
	store   *kv.Store
	dir     string
	folders []string // that are made too, as absentFolders answers them
	before  []string // what was in the folder
	failed  bool     // what it was made for
}

// beforeMaking looks at a folder in which a store is about to be made.
func beforeMaking(dir string) *fresh {
	entries, _ := os.ReadDir(dir) // no store is made in one that cannot be read
	f := &fresh{dir: dir, folders: absentFolders(dir)}
	for _, e := range entries {
		f.before = append(f.before, e.Name())
	}
	return f
}

// giveUp closes the line after what has failed. A store that was made for it goes too.
func (c *control) giveUp() error {
	if c.fresh != nil {
		c.fresh.failed = true
	}
	return c.close()
}

// takeBack removes the store, unless somebody has given it something. It is still open, and so nobody else's: who waits for it finds
// that it is gone.
func (f *fresh) takeBack() {
	if nothing, err := f.store.HoldsNothing(); err != nil || !nothing {
		return
	}
	_ = removeOwn(f.dir, f.before) // what cannot be removed stays, empty
	removeEmpty(f.folders)
}

// absentFolders are those of a path that are not there, the innermost first.
func absentFolders(dir string) (absent []string) {
	for {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			return absent
		}
		absent = append(absent, dir)
		dir = filepath.Dir(dir)
	}
}

// removeEmpty takes away folders that were made for what failed. One that something lies in stays.
func removeEmpty(folders []string) {
	for _, dir := range folders {
		_ = os.Remove(dir)
	}
}
