package disk

import (
	"syscall"
	"unsafe"
)

// freeBytes is what the volume of a folder has left for this user.
func freeBytes(dir string) (free int64, err error) {
	name, err := syscall.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	ask := syscall.NewLazyDLL("kernel32.dll").NewProc("GetDiskFreeSpaceExW")
	if ok, _, err := ask.Call(uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&free)), 0, 0); ok == 0 {
		return 0, err
	}
	return free, nil
}
