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
