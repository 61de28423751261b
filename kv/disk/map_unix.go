//go:build unix

package disk

import (
	"os"
	"syscall"
)

// Map maps the first bytes of a file, to be read until unmap is called. What cannot be read then is a fault of the memory: see
// debug.SetPanicOnFault.
func Map(f *os.File, size int64) (data []byte, unmap func() error, err error) {
	if int64(int(size)) != size {
		return nil, nil, syscall.EFBIG
	}
	if data, err = syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED); err != nil {
		return nil, nil, err
	}
	return data, func() error { return syscall.Munmap(data) }, nil
}
