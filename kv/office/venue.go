package office

import (
	"errors"

	"doorward/kv/engine"
	"doorward/kv/table"
)

// ReadCentre reads which centre the store has, and what that takes.
func ReadCentre(s *table.Set) error {
	return s.Engine.View(func(r *engine.View) error {
		row, err := r.Get(table.MetaBucket, table.CentreKey)
		centre := string(row)
		s.CentreID.Store(&centre)
		if err != nil {
			return table.Identified(table.CentreKey, err)
		}
		u, err := table.ReadUpstream(&table.View{View: r})
		s.Joined.Store(&u)
		if errors.Is(err, engine.ErrCorrupt) {
			return nil // a caller that asks for the centre gets this error; until then it is unknown what the centre takes
		}
		return err
	})
}

// mayEnrol returns a *Conflict if laptops cannot be enrolled: a laptop hands on no facts but its own (sync.md §1), so those of one
// that had joined it would never come to the centre.
func (of *Desk) mayEnrol() error {
	if !of.tables.IsLeaf() {
		return nil
	}
	where := "at the centre"
	if u := of.tables.Joined.Load(); u.URL != "" {
		where += ", " + u.URL
	}
	return &table.Conflict{Reason: "laptops are enrolled " + where + ": this store has joined it itself, and a second laptop here opens the pages of this one"}
}
