package table

import (
	"slices"

	"doorward/kv/scopes"
)

// IsGuestIn tells a scope of which the centre takes only what this laptop has made.
func (u *Upstream) IsGuestIn(s scopes.Scope) bool { return slices.Contains(u.Guest, s.String()) }
