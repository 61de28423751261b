package record

import "doorward/kv/scopes"

// Scopes are the scopes of a record; home is the id of the church or event it belongs to (Kind.Home), 0 for none. A person
// or entry without a church is in none but the mirror of all records.
func (k *Kind) Scopes(id ID, _ *Doc, home int64) []scopes.Scope {
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
