package laptop

import (
	"slices"

	"doorward/kv/auth"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// ReadyEvents are the first of those events whose doors a store that has joined a centre can serve: it holds the event and more than that. At
// a store without a centre, which has all events, it is nil.
func (lp *Laptop) ReadyEvents(most int) (ids []int64, err error) {
	if !lp.tables.IsLeaf() {
		return nil, nil
	}
	held, err := lp.venues.HeldEvents(auth.Operator())
	if err != nil {
		return nil, err
	}
	ids = []int64{}
	err = lp.tables.View(func(v *table.View) error {
		for _, id := range held {
			st, err := v.Load(record.Event, record.Int(id))
			if err != nil {
				return err
			}
			if st != nil && len(ids) < most {
				ids = append(ids, id)
			}
		}
		return nil
	})
	return ids, err
}

// InProgress tells whether an event of which this store holds tickets or facts is in progress: from three hours before it begins until three
// hours after it ends, and within an hour of the last attempt at a door, whatever the event says. *Forbidden.
func (lp *Laptop) InProgress(p auth.Principal) (is bool, err error) {
	held, err := lp.venues.HeldEvents(p)
	if err != nil || len(held) == 0 || lp.tables.Engine.DoorWithin(table.DoorsQuiet) {
		return len(held) > 0, err
	}
	err = lp.tables.View(func(v *table.View) error {
		for _, id := range held {
			st, err := v.Load(record.Event, record.Int(id))
			if err != nil {
				return err
			}
			is = is || st != nil && office.InProgress(st, v.Now)
		}
		return nil
	})
	return is, err
}

// Holdings are the databases of churches and events of which the store holds more than events themselves, by name. *Forbidden.
func (lp *Laptop) Holdings(p auth.Principal) (names []string, err error) {
	held, err := lp.venues.Held(p, func(sort scopes.Sort) bool {
		return sort.OfEvent() || sort == scopes.Church || sort == scopes.ChurchFinance
	})
	for _, scope := range held {
		names = append(names, scope.String())
	}
	slices.Sort(names)
	return names, err
}
