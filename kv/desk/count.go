package desk

import (
	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/table"
)

// IDs are all live records of a kind, ascending, as of the latest commit that is durable: the lists of one that is not yet are ahead of
// what Retrieve and the log show. It is for denomination level.
func (dk *Desk) IDs(p auth.Principal, k *record.Kind) (ids []record.ID, err error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	err = dk.tables.View(func(v *table.View) error {
		all := v.Lists.Kind(k).All
		ids = all.Page(make([]record.ID, 0, all.Len()), 0, all.Len())
		return nil
	})
	return ids, err
}

// Scannable tells whether every search can do without its index: neither all people nor the tickets of an event are too many to
// look at. A store that cannot be read is not scannable.
func (dk *Desk) Scannable() (is bool) {
	err := dk.tables.View(func(v *table.View) error {
		is = v.Lists.Kind(record.Person).All.Len() <= dk.Search.limit
		for _, event := range v.Lists.Kind(record.Ticket).Home {
			is = is && event.Ids.Len() <= dk.Search.limit
		}
		return nil
	})
	return is && err == nil
}
