//go:build !unix

package disk

import (
	"errors"
	"os"
)

// Map maps no file here: the caller reads it.
func Map(*os.File, int64) (data []byte, unmap func() error, err error) {
	return nil, nil, errors.ErrUnsupported
}
