package disk

import (
	"errors"
	"os"
	"time"
)

// ErrInUse is a file that another process has locked.
var ErrInUse = errors.New("the store is open in another process")

// Locks tells whether files can be locked on this system.
const Locks = locks

// Lock takes the lock of an open file until it is closed: ErrInUse where another process has it, errors.ErrUnsupported where there are none.
func Lock(f *os.File) error {
	if !locks {
		return errors.ErrUnsupported
	}
	return lockFile(f)
}

// LockWithin is Lock that waits for another process to let go of the file. Where there are no locks it returns nil.
func LockWithin(f *os.File, patience time.Duration) error {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if err := lockFile(f); !errors.Is(err, ErrInUse) || time.Now().After(end) {
			return err
		}
	}
}
