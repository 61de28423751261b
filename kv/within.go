package kv

import (
	"slices"

	"doorward/kv/record"
)

// within refuses a key that could do or see more than p.
func within(o *op, p Principal, k Key) error {
	if p.operator {
		return nil
	}
	ok, err := levelWithin(o.sight, p, k.Level)
	if err != nil {
		return err
	}
	if !ok {
		return &Forbidden{CurrentScopes: []string{}, RequiredLevel: k.Level.String(), CurrentLevel: p.level.String()}
	}
	for _, want := range k.Permissions {
		if !p.grants(want) {
			return p.lacks(want)
		}
	}
	if len(k.Permissions) == 0 { // everything but the reserved resources
		for _, resource := range resources() {
			if want := (Permission{resource, "*"}); resource != "*" && !reservedResource(resource) && !p.grants(want) {
				return p.lacks(want)
			}
		}
	}
	return nil
}

// outlast refuses a key that would be good for longer, or for more requests, than p.
func (p Principal) outlast(k Key) error {
	longer := !p.expires.IsZero() && (k.Expires.IsZero() || k.Expires.After(p.expires))
	faster := p.rate > 0 && (k.Rate == 0 || k.Rate > p.rate)
	if !longer && !faster {
		return nil
	}
	return &Forbidden{
		CurrentScopes: []string{}, RequiredLevel: k.Level.String(), CurrentLevel: p.level.String(),
		Reason: "a key makes none that is good for longer, or for more requests a minute, than itself",
	}
}

// levelWithin tells whether all that a level sees, p sees.
func levelWithin(v *sight, p Principal, l Level) (bool, error) {
	switch {
	case p.whole():
		return true, nil
	case l.Name == p.level.Name:
		return !slices.ContainsFunc(l.IDs, func(id int64) bool { return !p.level.has(id) }), nil
	case l.Name.rank() < p.level.Name.rank():
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
	if k == nil || !p.whole() {
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
