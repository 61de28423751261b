package desk

import (
	"doorward/kv/auth"
	"doorward/kv/record"
)

// IDs are all live records of a kind, ascending, as of the latest commit. It is for denomination level.
func (dk *Desk) IDs(p auth.Principal, k *record.Kind) ([]record.ID, error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	all := dk.tables.Current().Kind(k).All
	return all.Page(make([]record.ID, 0, all.Len()), 0, all.Len()), nil
}

// Scannable tells whether every search can do without its index: neither all people nor the tickets of an event are too many to
// look at.
func (dk *Desk) Scannable() bool {
	lists := dk.tables.Current()
	for _, event := range lists.Kind(record.Ticket).Home {
		if event.Ids.Len() > dk.Search.limit {
			return false
		}
	}
	return lists.Kind(record.Person).All.Len() <= dk.Search.limit
}
