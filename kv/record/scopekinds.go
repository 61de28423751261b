package record

import (
	"slices"
	"strings"

	"doorward/kv/scopes"
)

// KindsIn returns the kinds whose records may be in a scope of this sort, in order of their numbers.
func KindsIn(s scopes.Sort) []*Kind {
	var found []*Kind
	for _, k := range kinds {
		shared := s == scopes.Reference && k.Class == Shared // those of no church
		if shared || slices.Contains(k.scopes, s) {
			found = append(found, k)
		}
	}
	return found
}

// ParseDocID reads what DocID wrote of a kind of this version.
func ParseDocID(text string) (k *Kind, id ID, ok bool) {
	name, rest, _ := strings.Cut(text, ":")
	if k, ok = ByName(name); !ok {
		return nil, ID{}, false
	}
	if !k.ULID {
		rest = strings.TrimLeft(rest, "0")
	}
	id, ok = k.ParseID(rest)
	var room [64]byte
	return k, id, ok && string(appendDocID(room[:0], k, id)) == text
}
