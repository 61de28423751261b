package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Manifest describes a backup. It lies beside the backup under the same name with ".json" behind it, never beside a link to the backup.
// A backup without one can be restored too.
type Manifest struct {
	File   string `json:"file"` // the backup's name, without its folder
	Copied `json:",inline"`
	SHA256 string `json:"sha256"`
}

// ManifestName is the name of the manifest of a file.
func ManifestName(file string) string { return file + ".json" }

// ManifestOf is the manifest of a backup: beside the file that a link leads to, else beside the link.
func ManifestOf(file string) string {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		if _, err := os.Stat(ManifestName(real)); err == nil {
			return ManifestName(real)
		}
	}
	return ManifestName(file)
}

// ReadManifest reads a manifest. It returns nil if there is no file.
func ReadManifest(name string) (*Manifest, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, Named(name, err)
	}
	made := &Manifest{}
	if err := json.Unmarshal(text, made); err != nil || made.SHA256 == "" {
		return nil, fmt.Errorf("%s is no manifest of a backup", name)
	}
	return made, nil
}

// CheckManifest refuses a backup if its manifest would replace a file that is no manifest.
func CheckManifest(file string) error {
	name := ManifestName(file)
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, syscall.ENAMETOOLONG):
		return fmt.Errorf("%s: that name is too long for a backup, whose manifest is named so with .json behind it", file)
	case err != nil:
		return nil
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file, and a backup's manifest would lie there", name)
	}
	if _, err := ReadManifest(name); err != nil {
		return fmt.Errorf("%w, and one would take its place", err)
	}
	return nil
}

// isManifest reports whether a name is a manifest itself, and no link to one.
func isManifest(name string) bool {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	_, err = ReadManifest(name)
	return err == nil
}
