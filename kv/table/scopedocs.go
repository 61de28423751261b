package table

import (
	"slices"

	"doorward/kv/scopes"
)

// Mirror is the name of the database of all records.
const Mirror = "records"

// OfRecords tells the name of a database of records.
func OfRecords(name string) bool {
	_, ok := scopes.Parse(name)
	return ok || name == Mirror
}

// ParseScopeLog reads a row of a scope's log.
func ParseScopeLog(seq uint64, row []byte) (c ScopeChange, err error) {
	if len(row) > 0 && row[0] == OpaqueKind {
		return ParseOpaqueLog(seq, row)
	}
	c.Change, c.Removed, err = ParseLogRow(seq, row)
	return c, err
}

// ScopeChange is one row of a scope's log. removed tells that the record has left; the revision is then the last that the scope
// saw.
type ScopeChange struct {
	Change
	Removed bool
	Doc     string // of a kind that this version does not know; Kind is nil then
}

// ringScopes wakes those who listen to the databases of the records that have changed.
func (b *bells) ringScopes(changes []ListChange) {
	b.Mu.Lock()
	quiet := len(b.Ropes) == 0
	b.Mu.Unlock()
	if quiet {
		return
	}
	names := []FeedName{{}}
	for i := range changes {
		for _, m := range [2]*scopeMark{&changes[i].From, &changes[i].To} {
			for _, s := range m.scopes {
				if name := (FeedName{Scope: s}); !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	if len(changes) > 0 {
		b.ring(names)
	}
}
