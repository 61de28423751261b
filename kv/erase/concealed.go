package erase

import (
	"slices"

	"doorward/kv/record"
	"doorward/kv/table"
)

// conceal hides from now on what an eraser is at. Where damage keeps it from telling which holdings these are, it hides all.
func (rg *Register) conceal(e *eraser) {
	persons, holdings := e.all[record.Person], slices.Clip(e.all[record.Holder])
	if len(persons)+len(holdings) == 0 {
		return
	}
	c := &table.Concealed{Persons: setOf(persons)}
	err := rg.tables.View(func(v *table.View) error {
		for _, id := range persons {
			held, err := v.Lookup(record.Holder, "persons", id.Int())
			if err != nil {
				return err
			}
			holdings = append(holdings, held...)
		}
		return nil
	})
	if err == nil { // what is damaged is counted where it is read
		c.Holdings = setOf(holdings)
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
