package kv

import "doorward/kv/record"

// IDs are all live records of a kind, ascending, as of the latest commit. It is for denomination level.
func (s *Store) IDs(p Principal, k *record.Kind) ([]record.ID, error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	all := s.current().kind(k).all
	return all.page(make([]record.ID, 0, all.len()), 0, all.len()), nil
}

// Scannable tells whether every search can do without its index: neither all people nor the tickets of an event are too many to
// look at.
func (s *Store) Scannable() bool {
	lists := s.current()
	for _, event := range lists.kind(record.Ticket).home {
		if event.ids.len() > s.search.limit {
			return false
		}
	}
	return lists.kind(record.Person).all.len() <= s.search.limit
}
