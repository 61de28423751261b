package entry

import (
	"slices"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/table"
)

// LevelWithin tells whether all that a level sees, p sees.
func LevelWithin(v *table.View, p auth.Principal, l auth.Level) (bool, error) {
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
func homeWithin(v *table.View, p auth.Principal, name auth.LevelName, id int64) (bool, error) {
	if name == auth.ChurchOf {
		return HoldsChurch(v, p, id)
	}
	event, err := v.Load(record.Event, record.Int(id))
	if err != nil || event == nil {
		return false, err
	}
	return HoldsChurch(v, p, event.Home(record.Event))
}
