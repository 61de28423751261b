package record

import (
	"slices"
	"strconv"
	"strings"
)

// KindsIn returns the kinds whose records may be in a scope of this sort, in order of their numbers.
func KindsIn(s ScopeSort) []*Kind {
	var found []*Kind
	for _, k := range kinds {
		shared := s == ScopeReference && k.Class == Shared // those of no church
		if shared || slices.Contains(k.scopes, s) {
			found = append(found, k)
		}
	}
	return found
}

// OfEvent tells the sorts that hold what an event has.
func (s ScopeSort) OfEvent() bool {
	return s == ScopeEvent || s == ScopeEventNames || s == ScopeEventHolders
}

// ParseScope reads a database's name as Scope.String writes it; ok is false for any other, and for the scope of the system,
// which is no database.
func ParseScope(name string) (s Scope, ok bool) {
	switch name {
	case "reference":
		return Scope{Sort: ScopeReference}, true
	case "reference-finance":
		return Scope{Sort: ScopeReferenceFinance}, true
	}
	parts := strings.SplitN(name, "-", 3)
	if len(parts) < 2 {
		return Scope{}, false
	}
	s.ID, _ = strconv.ParseInt(parts[1], 10, 64) // 0, or written in another way, is no name of this scope
	const maxID = 1<<53 - 1
	for s.Sort = ScopeChurch; s.Sort < ScopeSystem; s.Sort++ {
		if s.ID > 0 && s.ID <= maxID && s.String() == name {
			return s, true
		}
	}
	return Scope{}, false
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
	return k, id, ok && string(k.appendDocID(room[:0], id)) == text
}
