package kv

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"doorward/kv/disk"
	"doorward/kv/engine"
)

// replacedName is the name of a store whose place another took (Replace).
var replacedName = regexp.MustCompile(`^doorward-[0-9]{8}T[0-9]{6}Z(-[0-9]+)?\.db$`)

// IsOwnName tells a name that only a store gives to what it keeps in its folder: no file of anybody else may have it there.
func IsOwnName(name string) bool {
	return name == filepath.Base(Path("")) || name == engine.RewriteName || name == verifyName || slices.Contains(beside[:], name) ||
		replacedName.MatchString(name) || strings.HasPrefix(name, disk.OwnPrefix)
}
