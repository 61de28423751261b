package desk

import (
	"slices"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/table"
)

// churches are p's own churches; only for regional and church level.
func churches(v *table.View, p auth.Principal) ([]int64, error) {
	if !p.IsOf(auth.RegionalOf) {
		return p.Level().IDs, nil
	}
	var ids []int64
	for _, regional := range p.Level().IDs {
		found, err := v.Lookup(record.Church, "regional_id", regional)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			ids = append(ids, id.Int())
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// SeesHolders tells whether a decision at a door may name the ticket's holder: to church level and above, if the key reads
// events besides.
func SeesHolders(p auth.Principal) bool {
	return !p.IsOf(auth.EventOf) && (p.Check(record.Event.Resource, "GET") == nil || p.Check("admin", "GET") == nil)
}
