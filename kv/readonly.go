package kv

import (
	"errors"
	"fmt"
	"os"

	"go.etcd.io/bbolt"
)

// ErrReadOnly is a store on a disk, or in a folder, in which nothing can be written.
var ErrReadOnly = errors.New("nothing can be written there")

// errMigrates is a store of which nothing can be read before it is written.
var errMigrates = fmt.Errorf("%w, and an older version has written the store: this version must bring it to its own format first, so copy the folder to a disk that can be written", ErrReadOnly)

// access is how a store's file is opened.
type access struct {
	flag int
	bolt *bbolt.Options
}

// accessFor is how a file of some size is opened, to be written or only to be read.
func accessFor(readOnly bool, size int64) access {
	if !readOnly {
		return access{os.O_RDWR, boltOptions(size)}
	}
	return access{os.O_RDONLY, &bbolt.Options{ReadOnly: true, Timeout: lockPatience, PageSize: filePageSize}}
}
