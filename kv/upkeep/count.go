package upkeep

import (
	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// RecordCounts returns how many live records there are, by kind. It returns *Forbidden.
func (fg *Figures) RecordCounts(p auth.Principal) (map[string]int, error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, k := range record.Kinds() {
		counts[k.Name] = fg.tables.Lists.Live(k)
	}
	return counts, nil
}

// statesPage is how many tickets TicketStates reads in one View.
const statesPage = 2000

// TicketStates returns how many tickets of an event are in each state; event 0 means all events. It returns *Forbidden.
func (fg *Figures) TicketStates(p auth.Principal, event int64) (map[string]int, error) {
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
		err := fg.tables.View(func(v *table.View) error {
			list := v.Lists.Kind(record.Ticket).All
			if event != 0 {
				list = v.Lists.Kind(record.Ticket).Home.Of(event)
			}
			ids := list.Page(nil, at, statesPage)
			n = len(ids)
			return v.Each(record.Ticket, ids, func(st *table.Stored) error {
				counts[value.Unquote(st.Body.Member("state"))]++
				return nil
			})
		})
		if err != nil || n < statesPage {
			return counts, err
		}
	}
}
