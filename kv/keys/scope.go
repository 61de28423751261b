package keys

import (
	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
)

// within refuses a key that could do or see more than p.
func within(v *table.View, p auth.Principal, k auth.Key) error {
	if p.IsOperator() {
		return nil
	}
	ok, err := entry.LevelWithin(v, p, k.Level)
	if err != nil {
		return err
	}
	if !ok {
		return &auth.Forbidden{CurrentScopes: []string{}, RequiredLevel: k.Level.String(), CurrentLevel: p.Level().String()}
	}
	return auth.CheckKey(p, k)
}

// Missing returns the ids of a level that name nothing. A key for them would see nothing, or the church or event that gets the
// number later. It returns ids only to a principal that sees everything. Other principals may not have a key for them at all.
func (kr *Ring) Missing(p auth.Principal, l auth.Level) (ids []int64, err error) {
	k := map[auth.LevelName]*record.Kind{auth.RegionalOf: record.Regional, auth.ChurchOf: record.Church, auth.EventOf: record.Event}[l.Name]
	if k == nil || !p.IsWhole() {
		return nil, nil
	}
	err = kr.tables.View(func(v *table.View) error {
		for _, id := range l.IDs {
			st, err := v.Load(k, record.Int(id))
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
