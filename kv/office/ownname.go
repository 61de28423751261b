package office

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/table"
)

// replacedName is the name of a store that was replaced (Replace), and of a log that was set aside.
var replacedName = regexp.MustCompile(`^doorward-[0-9]{8}T[0-9]{6}Z(-[0-9]+)?\.(db|log)$`)

// IsOwnName tells whether only a store gives this name to a file in its folder. No other file may have it there.
func IsOwnName(name string) bool {
	return name == filepath.Base(table.Path("")) || name == engine.RewriteName || name == engine.LogName || name == table.VerifyName || slices.Contains(table.Beside[:], name) ||
		replacedName.MatchString(name) || strings.HasPrefix(name, disk.OwnPrefix)
}
