package engine

import (
	"errors"
	"os"
)

// Lock takes the lock of an open file until it is closed: ErrInUse where somebody else has it, errors.ErrUnsupported where there are none.
func Lock(f *os.File) error {
	if !locks {
		return errors.ErrUnsupported
	}
	return lockFile(f)
}
