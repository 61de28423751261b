package laptop

import (
	"slices"

	"doorward/kv/auth"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// ReadyEvents lists events that a store with a centre can serve at doors, at most some: the store holds the event and more than
// that. It is nil for a store without a centre, which has all events.
func (lp *Laptop) ReadyEvents(most int) (ids []int64, err error) {
	if !lp.tables.Identity.IsLeaf() {
		return nil, nil
	}
	held, err := lp.venues.HeldEvents(auth.Operator())
	if err != nil {
		return nil, err
	}
	ids = []int64{}
	centre := lp.tables.Identity.Upstream()
	err = lp.eachEvent(held, func(v *table.View, st *table.Stored) {
		if len(ids) < most && centre.Admits(st.ID.Int()) {
			ids = append(ids, st.ID.Int())
		}
	})
	return ids, err
}

// eachEvent calls fn with the records of some events, as far as they are here.
func (lp *Laptop) eachEvent(ids []int64, fn func(*table.View, *table.Stored)) error {
	return lp.tables.View(func(v *table.View) error {
		for _, id := range ids {
			st, err := v.Load(record.Event, record.Int(id))
			if err != nil {
				return err
			}
			if st != nil {
				fn(v, st)
			}
		}
		return nil
	})
}

// InProgress tells whether an event is in progress of which this store holds tickets or facts: from three hours before it begins until three
// hours after it ends, and within an hour after the last attempt at a door. It returns *Forbidden.
func (lp *Laptop) InProgress(p auth.Principal) (is bool, err error) {
	held, err := lp.venues.HeldEvents(p)
	if err != nil || len(held) == 0 || lp.tables.Engine.DoorWithin(table.DoorsQuiet) {
		return len(held) > 0, err
	}
	err = lp.eachEvent(held, func(v *table.View, st *table.Stored) { is = is || office.InProgress(st, v.Now) })
	return is, err
}

// Holdings lists the databases of churches and events that hold other records than events, by name. It returns *Forbidden.
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
