package main

import (
	"os"

	"doorward/kv"
)

// fresh is a store that a command has made, in a folder that had none. What fails before there is anything in it leaves no trace.
type fresh struct {
	store  *kv.Store
	dir    string
	folder bool     // was made too
	before []string // what was in the folder
	failed bool     // what it was made for
}

// beforeMaking looks at a folder in which a store is about to be made.
func beforeMaking(dir string) *fresh {
	entries, err := os.ReadDir(dir)
	f := &fresh{dir: dir, folder: err != nil}
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
	if f.folder {
		_ = os.Remove(f.dir)
	}
}
