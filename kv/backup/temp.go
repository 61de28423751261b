//go:build !windows

package backup

import (
	"path/filepath"

	"github.com/google/renameio/v2"
)

// tempFile is a file with a temporary name.
type tempFile = renameio.PendingFile

// newTemp makes a file of mode 0600 beside path, which it is to become. Some disks give it another mode, and change none.
func newTemp(path string) (*tempFile, error) {
	return renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o600))
}
