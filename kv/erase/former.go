package erase

import (
	"slices"

	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/table"
)

// former are the rows of the persons that are erased.
func (e *eraser) former() (keys [][]byte, err error) {
	err = e.store.tables.EachRow(table.FormerBucket, nil, func(_ *table.View, key, _ []byte) error {
		_, person, err := merge.CutFormer(key)
		if err == nil && slices.Contains(e.all[record.Person], person) {
			keys = append(keys, slices.Clone(key))
		}
		return err
	})
	return keys, err
}

// heldOnce are the tickets that the persons held once: by the rows, and by the bodies that are kept, of losing branches too.
func (e *eraser) heldOnce() ([]record.ID, error) {
	tickets, err := e.keptOf(record.Holder)
	if err != nil {
		return nil, err
	}
	keys, err := e.former()
	for _, key := range keys {
		ticket, _, _ := merge.CutFormer(key) // it was read before
		tickets = append(tickets, ticket)
	}
	return tickets, err
}

// forgetHeld takes the persons' rows away.
func (e *eraser) forgetHeld() error {
	keys, err := e.former()
	var steps []table.Step
	for _, key := range keys {
		steps = append(steps, table.Step{Run: func(o *table.Tx) error {
			o.Delete(table.FormerBucket, key)
			return nil
		}})
	}
	return merge.ErrorsOr(err, func() error { return e.store.tables.DoEach(steps) })
}
