//go:build !linux && !darwin && !freebsd && !windows

package disk

import "errors"

// freeBytes is not known here: nothing is refused before the disk is full.
func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }
