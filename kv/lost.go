package kv

import (
	"fmt"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// If a laptop deletes a record while an edit has lost there, it ends that edit's branch too. The centre may never have seen the
// edit, because only leaves are pushed. So the tombstone brings along the edit that it ended, and the centre lists the edit if
// it does not have it. A tombstone's body is no part of its revision.
const lostMember = "lost"

// lostBody is the body of a tombstone that was made here, of a record with several: what was there before it.
func lostBody(v *sight, k *record.Kind, st *stored, n rev.Node) ([]byte, error) {
	if !st.deleted || !st.branched || n.Node != (ulid.ULID{}) || !v.store.isLeaf() {
		return []byte("{}"), nil
	}
	d, err := keptDoc(v, k, st.id, n.Parent)
	if err != nil || d == nil {
		return []byte("{}"), err
	}
	return append(appendMember([]byte{'{'}, lostMember, d.Canonical()), '}'), nil
}

// readLost reads what a tombstone brings along.
func (a *arrival) readLost(tombstone []byte) (err error) {
	lost := record.Body{Shown: tombstone[1 : len(tombstone)-1]}.Member(lostMember)
	if len(lost) < 2 || lost[0] != '{' {
		return nil
	}
	if a.lost, err = a.kind.Decode(record.Body{Shown: lost[1 : len(lost)-1]}); err != nil {
		return fmt.Errorf("%w: %w", ErrDocument, err)
	}
	return nil
}

// listBrought lists what a tombstone has brought along, unless its revision is here.
func listBrought(o *op, a *arrival) error {
	if a.lost == nil || len(a.path) < 2 || a.tree.Find(a.path[1]).Held {
		return nil
	}
	return listConflict(o, a.kind, a.id, record.Clash{Other: a.lost.Canonical()}, a.node.Node)
}
