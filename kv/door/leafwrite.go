package door

import (
	"slices"

	"doorward/kv/scopes"
	"doorward/kv/table"
)

// mayDecide answers a *Forbidden for a fact that would never leave a mirror: nobody else would learn who was let in there. What is of an
// event that it was enrolled for besides is taken from it.
func mayDecide(o *table.Tx, event int64) error {
	if !o.Store.IsLeaf() {
		return nil
	}
	u := o.Store.Joined.Load()
	if !slices.Contains(u.Pulls, table.Mirror) || slices.Contains(u.Pushes, scopes.Scope{Sort: scopes.Event, ID: event}.String()) {
		return nil
	}
	return table.Refused("this laptop is a mirror, which is only read: check in at the centre, or at a laptop that is enrolled for the event")
}
