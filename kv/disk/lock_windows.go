package disk

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// locks tells whether lockFile keeps others out.
const locks = true

// lockFile takes the lock that an open store holds, until the file is closed: ErrInUse. It is the lock of bbolt, of a byte that no file reaches.
func lockFile(f *os.File) error {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxUint32})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrInUse
	}
	return err
}
