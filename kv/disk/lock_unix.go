//go:build unix && !solaris && !aix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// locks tells whether lockFile keeps others out.
const locks = true

// lockFile takes the lock that an open store holds, until the file is closed: ErrInUse.
func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrInUse
	}
	return err
}
