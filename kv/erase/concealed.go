package erase

import (
	"slices"

	"doorward/kv/record"
	"doorward/kv/table"
)

// conceal hides from now on what an eraser is at; of a ticket that was passed on, what it was before. Where damage keeps it from
// telling which tickets these are, it hides whose all tickets are.
func (rg *Register) conceal(e *eraser) {
	persons, tickets := e.all[record.Person], slices.Clip(e.all[record.Ticket])
	if len(persons)+len(tickets) == 0 {
		return
	}
	c := &table.Concealed{Persons: setOf(persons)}
	if past, err := e.heldOnce(); err == nil { // what is damaged is counted where it is read
		c.Past = setOf(past)
	}
	err := rg.tables.View(func(v *table.View) error {
		for _, id := range persons {
			held, err := v.Lookup(record.Holder, "person_id", id.Int())
			if err != nil {
				return err
			}
			tickets = append(tickets, held...)
		}
		return nil
	})
	if err == nil { // as above
		c.Tickets = setOf(tickets)
	}
	rg.tables.Recalls.Concealed.Store(c)
}

func setOf(ids []record.ID) map[record.ID]bool {
	set := map[record.ID]bool{}
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// ErasuresUnfinished is how many records shall be erased and could not be. It is tried again by itself, and nobody is shown what is
// personal in them.
func (rg *Register) ErasuresUnfinished() int { return int(rg.unfinished.Load()) }
