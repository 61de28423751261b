//go:build !windows

package backup

import (
	"path/filepath"

	"github.com/google/renameio/v2"
)

// tempFile is a file with a temporary name.
type tempFile = renameio.PendingFile

// newTemp makes a file of mode 0600 beside path, which it is to become.
func newTemp(path string) (*tempFile, error) { return renameio.TempFile(filepath.Dir(path), path) }
