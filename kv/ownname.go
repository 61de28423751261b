package kv

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// OwnPrefix begins the names of what is made in a folder for a while: nobody gives such a name to a file of his own.
const OwnPrefix = ".doorward-"

// replacedName is the name of a store whose place another took (Replace).
var replacedName = regexp.MustCompile(`^doorward-[0-9]{8}T[0-9]{6}Z(-[0-9]+)?\.db$`)

// IsOwnName tells a name that only a store gives to what it keeps in its folder: no file of anybody else may have it there.
func IsOwnName(name string) bool {
	return name == filepath.Base(Path("")) || name == compactName || name == verifyName || slices.Contains(beside[:], name) ||
		replacedName.MatchString(name) || strings.HasPrefix(name, OwnPrefix)
}
