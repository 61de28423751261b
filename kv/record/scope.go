package record

import "strconv"

// Scope is a replication database that a record belongs to (sync.md §1): a name, and the id it is about or 0.
type Scope struct {
	Sort ScopeSort
	ID   int64
}

// ScopeSort is the sort of a scope.
type ScopeSort byte

// The sorts. Their numbers are stored.
const (
	ScopeReference ScopeSort = 1 + iota
	ScopeReferenceFinance
	ScopeChurch
	ScopeChurchFinance
	ScopeEvent
	ScopeEventNames
	ScopeEventHolders
	ScopeSystem
)

// String is the database's name: "church-3-finance".
func (s Scope) String() string {
	id := strconv.FormatInt(s.ID, 10)
	switch s.Sort {
	case ScopeReference:
		return "reference"
	case ScopeReferenceFinance:
		return "reference-finance"
	case ScopeChurch:
		return "church-" + id
	case ScopeChurchFinance:
		return "church-" + id + "-finance"
	case ScopeEvent:
		return "event-" + id
	case ScopeEventNames:
		return "event-" + id + "-names"
	case ScopeEventHolders:
		return "event-" + id + "-holders"
	case ScopeSystem:
		return "_system"
	}
	return ""
}

// Scopes are the scopes of a record; home is the id of the church or event it belongs to (Kind.Home), 0 for none. A person
// or entry without a church is in none but the mirror of all records.
func (k *Kind) Scopes(id ID, _ *Doc, home int64) []Scope {
	out := make([]Scope, 0, len(k.scopes))
	for _, sort := range k.scopes {
		switch {
		case sort == ScopeReference || sort == ScopeReferenceFinance || sort == ScopeSystem:
			out = append(out, Scope{Sort: sort})
		case sort == ScopeEvent && k.Class == Shared:
			out = append(out, Scope{sort, id.Int()})
		case home != 0:
			out = append(out, Scope{sort, home})
		case k.Class == Shared:
			out = append(out, Scope{Sort: ScopeReference})
		}
	}
	return out
}
