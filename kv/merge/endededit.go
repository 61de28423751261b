package merge

import (
	"fmt"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// If a laptop deletes a record while an edit has lost there, it ends that edit's branch too. The centre may never have seen the
// edit, because only leaves are pushed. So the tombstone brings along the edit that it ended, and the centre lists the edit if
// it does not have it. A tombstone's body is no part of its revision.
const lostMember = "lost"

// LostBody is the body of a tombstone that this laptop has made on a record with branches: the edit that the deletion has
// ended.
func LostBody(v *table.View, k *record.Kind, st *table.Stored, n rev.Node) ([]byte, error) {
	if !st.Deleted || !st.Branched || n.Node != (ulid.ULID{}) || !v.Store.Identity.IsLeaf() {
		return []byte("{}"), nil
	}
	d, err := table.KeptDoc(v, k, st.ID, n.Parent)
	if err != nil || d == nil {
		return []byte("{}"), err
	}
	return append(table.AppendMember([]byte{'{'}, lostMember, d.Canonical()), '}'), nil
}

// readLost reads the edit that a tombstone brings.
func (a *Arrival) readLost(tombstone []byte) (err error) {
	lost := record.Body{Shown: tombstone[1 : len(tombstone)-1]}.Member(lostMember)
	if len(lost) < 2 || lost[0] != '{' {
		return nil
	}
	if a.Lost, err = a.Kind.Decode(record.Body{Shown: lost[1 : len(lost)-1]}); err != nil {
		return fmt.Errorf("%w: %w", ErrDocument, err)
	}
	return nil
}

// listBrought lists for staff the edit that a tombstone brings, unless its revision is here.
func listBrought(o *table.Tx, a *Arrival) error {
	if a.Lost == nil || len(a.Path) < 2 || a.Tree.Find(a.Path[1]).Held {
		return nil
	}
	return listConflict(o, a.Kind, a.ID, record.Clash{Other: a.Lost.Canonical()}, a.Node.Node)
}
