//go:build !windows

package backup

import "github.com/google/renameio/v2"

// tempFile is a file with a temporary name.
type tempFile = renameio.PendingFile

// newTemp makes a file of mode 0600 in dir, which is to become path.
func newTemp(dir, path string) (*tempFile, error) { return renameio.TempFile(dir, path) }
