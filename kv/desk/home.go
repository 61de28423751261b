package desk

import (
	"slices"

	"doorward/kv/access"
	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Scope says which churches or events a query covers, 0 for records without one, or that it covers all.
type Scope struct {
	Homes []int64
	All   bool
	rest  []Where // the other conditions
}

// within tells whether all that the scope covers is among some homes.
func (h Scope) within(all bool, homes []int64) bool {
	return all || !h.All && !slices.ContainsFunc(h.Homes, func(home int64) bool { return !slices.Contains(homes, home) })
}

// ScopeOf returns what p sees of a kind, narrowed by the query's condition on the home field.
func ScopeOf(v *table.View, p auth.Principal, q Query) (h Scope, err error) {
	if h.Homes, h.All, err = homes(v, p, q.Kind); err != nil {
		return h, err
	}
	for _, w := range q.Where {
		if w.Field != homeField(q.Kind) || w.In == nil {
			h.rest = append(h.rest, w)
			continue
		}
		named := homesNamed(w)
		if h.All {
			h.Homes, h.All = named, false
		} else {
			h.Homes = slices.DeleteFunc(h.Homes, func(h int64) bool { return !slices.Contains(named, h) })
		}
	}
	return h, nil
}

// matchHome sets the lists that hold what p sees of a kind.
func matchHome(v *table.View, p auth.Principal, q Query, m *Matches) (Scope, error) {
	h, err := ScopeOf(v, p, q)
	if err != nil {
		return h, err
	}
	lists := v.Lists.Kind(q.Kind)
	switch {
	case h.All:
		m.Lists = []*table.IdList{lists.All}
	case q.Kind == record.Event && p.IsOf(auth.EventOf):
		m.ids, m.Exact = ownEvents(v, p, q), true
	case lists.Doubtful:
		return h, table.ErrDoubtful(q.Kind)
	default:
		for _, home := range h.Homes {
			if l := lists.Home.Of(home); l.Len() > 0 {
				m.Lists = append(m.Lists, l)
			}
		}
	}
	return h, nil
}

// homeField is the field that a kind's lists by home are named by; "" where the home is another record's.
func homeField(k *record.Kind) string {
	if k == record.Membership {
		return ""
	}
	return k.Home
}

// homesNamed are the homes that a condition names, 0 for null.
func homesNamed(w Where) []int64 {
	var homes []int64
	for _, value := range w.In {
		n, _ := value.(int64) // null is 0
		if !slices.Contains(homes, n) {
			homes = append(homes, n)
		}
	}
	return homes
}

// homes returns the churches or events of the records of a kind that p sees, 0 for records without one. all tells that p sees
// all records.
func homes(v *table.View, p auth.Principal, k *record.Kind) (homes []int64, all bool, err error) {
	reads := func(t access.Tie) bool { return access.MayAtDesk(p, access.Read, k, t) }
	switch {
	case reads(access.Foreign):
		return nil, true, nil
	case !reads(access.Own), p.IsOf(auth.EventOf) && k == record.Event: // its own events belong to churches that it does not see
		return nil, false, nil
	case p.IsOf(auth.EventOf):
		return slices.Clone(p.Level().IDs), false, nil
	}
	churches, err := churches(v, p)
	if err != nil {
		return nil, false, err
	}
	own := slices.Clone(churches)
	if reads(access.Churchless) {
		own = append([]int64{0}, own...)
	}
	if k.Class != record.Events {
		return own, false, nil
	}
	events := v.Lists.Kind(record.Event).Home
	for _, church := range own {
		for _, id := range events.Of(church).Page(nil, 0, events.Of(church).Len()) {
			homes = append(homes, id.Int())
		}
	}
	return homes, false, nil
}

// ownEvents are the events that an event key names, as far as they are there and in the churches asked for.
func ownEvents(v *table.View, p auth.Principal, q Query) []record.ID {
	lists := v.Lists.Kind(record.Event)
	var ids []record.ID
	for _, n := range p.Level().IDs {
		id := record.Int(n)
		ok := lists.All.Contains(id)
		for _, w := range q.Where {
			if w.Field == "church_id" {
				ok = ok && slices.ContainsFunc(homesNamed(w), func(h int64) bool { return lists.Home.Of(h).Contains(id) })
			}
		}
		if ok {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, record.ID.Compare)
	return ids
}
