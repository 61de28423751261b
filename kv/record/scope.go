package record

import (
	"slices"

	"doorward/kv/scopes"
)

// Scopes returns the scopes of a record. home is the id of the church or event it belongs to (Kind.Home), or 0. A person or entry
// without a church is in none; only the mirror of all records has it.
func (k *Kind) Scopes(id ID, home int64) []scopes.Scope {
	out := make([]scopes.Scope, 0, len(k.scopes))
	for _, sort := range k.scopes {
		switch {
		case sort == scopes.Reference || sort == scopes.ReferenceFinance || sort == scopes.System:
			out = append(out, scopes.Scope{Sort: sort})
		case sort == scopes.Event && k.Class == Shared:
			out = append(out, scopes.Scope{Sort: sort, ID: id.Int()})
		case home != 0:
			out = append(out, scopes.Scope{Sort: sort, ID: home})
		case k.Class == Shared:
			out = append(out, scopes.Scope{Sort: scopes.Reference})
		}
	}
	return out
}

// KindsIn returns the kinds that a scope of this sort may hold records of, in order of their numbers.
func KindsIn(s scopes.Sort) []*Kind {
	var found []*Kind
	for _, k := range kinds {
		shared := s == scopes.Reference && k.Class == Shared // those of no church
		ended := s == scopes.EventHolders && k == HolderName // those of holdings that have ended
		if shared || ended || slices.Contains(k.scopes, s) {
			found = append(found, k)
		}
	}
	return found
}
