package merge

import (
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// ListLost lists for staff the edits that had lost and that a deletion here ends: the author of the deletion has not seen them.
func ListLost(o *table.Tx, c table.Edit, t *rev.Tree) error {
	for _, leaf := range t.Leaves() {
		if leaf.Deleted || leaf.Revision == c.Before.Revision {
			continue
		}
		lost, err := table.KeptDoc(o.View, c.Kind, c.ID, leaf.Revision)
		if err != nil || lost == nil {
			return table.OrCorrupt(err)
		}
		if err := listConflict(o, c.Kind, c.ID, record.Clash{Other: lost.Canonical()}, leaf.Node); err != nil {
			return err
		}
	}
	return nil
}
