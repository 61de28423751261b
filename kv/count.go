package kv

import (
	"doorward/kv/record"
	"doorward/kv/value"
)

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

// live is how many live records of a kind there are.
func (s *tables) live(k *record.Kind) int { return s.current().kind(k).all.len() }

// RecordCounts is how many live records there are, by kind: *Forbidden.
func (s *Store) RecordCounts(p Principal) (map[string]int, error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, k := range record.Kinds() {
		counts[k.Name] = s.live(k)
	}
	return counts, nil
}

// statesPage is how many tickets TicketStates reads in one View.
const statesPage = 2000

// TicketStates is how many tickets there are in each state, of an event or, for event 0, of all: *Forbidden.
func (s *Store) TicketStates(p Principal, event int64) (map[string]int, error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	counts := map[string]int{}
	if state, _ := record.Ticket.Field("state"); state != nil {
		for _, word := range state.Type.(record.Choice) {
			counts[word] = 0
		}
	}
	for at := 0; ; at += statesPage {
		n := 0
		err := s.view(func(v *sight) error {
			list := v.lists.kind(record.Ticket).all
			if event != 0 {
				list = v.lists.kind(record.Ticket).home.of(event)
			}
			ids := list.page(nil, at, statesPage)
			n = len(ids)
			return v.each(record.Ticket, ids, func(st *stored) error {
				counts[value.Unquote(st.body.Member("state"))]++
				return nil
			})
		})
		if err != nil || n < statesPage {
			return counts, err
		}
	}
}
