package control

import (
	"os"

	"doorward/cmd/doorward/folder"
	"doorward/kv"
)

// created is a store that this command made, in a folder that had none.
type created struct {
	dir     string
	missing []string // the folders that were made with it
	before  []string // the names that were in the folder
	failed  bool     // the work of the command failed
}

// beforeCreating notes how a folder looks before a store is made in it.
func beforeCreating(dir string) *created {
	entries, _ := os.ReadDir(dir) // no store is made in a folder that cannot be read
	c := &created{dir: dir, missing: folder.Missing(dir)}
	for _, e := range entries {
		c.before = append(c.before, e.Name())
	}
	return c
}

// undo removes the store after a failure, unless it holds something. The store is still open, so no other process can write to it.
func (c *created) undo(store *kv.Store) {
	if !c.failed {
		return
	}
	if nothing, err := store.Laptop.HoldsNothing(); err != nil || !nothing {
		return
	}
	_ = folder.Clear(c.dir, c.before...) // files that cannot be removed stay, and hold nothing
	folder.RemoveEmpty(c.missing)
}
