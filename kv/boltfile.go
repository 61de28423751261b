package kv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// boltFile is the store's file as it lies open. Compacting puts another in its place, whose own transactions begin at 1 again: the
// numbers by which lists are found go on.
type boltFile struct {
	*bbolt.DB
	base   int
	itself os.FileInfo
}

// stands answers an error where the file that was opened lies at its path no more: it was moved, removed or replaced under us, and
// whoever opens the store next will not find what is written to it.
func (f *boltFile) stands(path string) error {
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, f.itself) {
		return fmt.Errorf("%s is not the file that was opened: somebody has moved, removed or replaced it", path)
	}
	return nil // what cannot be looked at just now shows itself when it is written to
}

// number is a transaction's: each commit's is larger than all before it, whichever file it went into.
func (f *boltFile) number(tx *bbolt.Tx) int { return f.base + tx.ID() }

// read calls fn in a View of the file, and with the View's number.
func (s *Store) read(fn func(tx *bbolt.Tx, number int) error) error {
	for {
		f := s.file.Load()
		err := f.View(func(tx *bbolt.Tx) error { return fn(tx, f.number(tx)) })
		if errors.Is(err, bolterrors.ErrDatabaseNotOpen) && s.file.Load() != f {
			continue // another took its place before the View began
		}
		return err
	}
}
