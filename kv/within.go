package kv

import (
	"slices"

	"doorward/kv/auth"
	"doorward/kv/record"
)

// within refuses a key that could do or see more than p.
func within(o *op, p Principal, k Key) error {
	if p.IsOperator() {
		return nil
	}
	ok, err := levelWithin(o.sight, p, k.Level)
	if err != nil {
		return err
	}
	if !ok {
		return &Forbidden{CurrentScopes: []string{}, RequiredLevel: k.Level.String(), CurrentLevel: p.Level().String()}
	}
	return auth.CheckKey(p, k)
}

// levelWithin tells whether all that a level sees, p sees.
func levelWithin(v *sight, p Principal, l Level) (bool, error) {
	switch {
	case p.IsWhole():
		return true, nil
	case l.Name == p.Level().Name:
		return !slices.ContainsFunc(l.IDs, func(id int64) bool { return !p.Level().Has(id) }), nil
	case l.Name.IsAbove(p.Level().Name):
		return false, nil
	}
	for _, id := range l.IDs {
		ok, err := homeWithin(v, p, l.Name, id)
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// homeWithin tells whether a church or an event is p's own. An event without a church belongs to the denomination alone.
func homeWithin(v *sight, p Principal, name LevelName, id int64) (bool, error) {
	if name == ChurchOf {
		return holdsChurch(v, p, id)
	}
	event, err := v.load(record.Event, record.Int(id))
	if err != nil || event == nil {
		return false, err
	}
	return holdsChurch(v, p, event.home(record.Event))
}

// Missing returns the ids of a level that name nothing. A key for them would see nothing, or the church or event that gets the
// number later. It returns ids only to a principal that sees everything. Other principals may not have a key for them at all.
func (s *Store) Missing(p Principal, l Level) (ids []int64, err error) {
	k := map[LevelName]*record.Kind{RegionalOf: record.Regional, ChurchOf: record.Church, EventOf: record.Event}[l.Name]
	if k == nil || !p.IsWhole() {
		return nil, nil
	}
	err = s.view(func(v *sight) error {
		for _, id := range l.IDs {
			st, err := v.load(k, record.Int(id))
			if err != nil {
				return err
			}
			if st == nil {
				ids = append(ids, id)
			}
		}
		return nil
	})
	return ids, err
}
