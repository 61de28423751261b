package table

import (
	"doorward/kv/engine"
	"doorward/kv/scopes"
)

// CutScope takes a scope off the front of a key.
func CutScope(key []byte) (s scopes.Scope, rest []byte, err error) {
	c := Cutter{Rest: key}
	s.Sort, s.ID = scopes.Sort(c.Byte()), int64(c.Uvarint())
	if c.Short || s.Sort == 0 {
		return s, nil, engine.ErrCorrupt
	}
	return s, c.Rest, nil
}
