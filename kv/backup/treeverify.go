package backup

import (
	"encoding/binary"
	"errors"
	"fmt"

	"doorward/kv/docs"
	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// verifyReplica checks a row that belongs to a record's history against the record.
func verifyReplica(v *table.View, b engine.Bucket, key, value []byte) error {
	k, id, rest, err := table.CutRecord(key)
	if err != nil {
		return err
	}
	st, err := v.LoadAny(k, id)
	if err != nil {
		return err
	}
	if st == nil {
		return fmt.Errorf("a row of %s %s, which was never there", k.Name, k.FormatID(id))
	}
	switch b {
	case table.TreeBucket:
		return nil // the record has looked at it
	case table.LeftBucket:
		return verifyLeft(v, k, st, rest, value)
	}
	return verifyKept(v, k, st, rest)
}

// verifyTree checks that a record agrees with its tree, and that the store has every body that the tree says it has.
func verifyTree(v *table.View, k *record.Kind, st *table.Stored) error {
	row, err := v.Get(table.TreeBucket, table.TreeKey(k, st.ID))
	if err != nil {
		return err
	}
	if row == nil && !st.Branched {
		return nil // its tree is what the record says itself
	}
	t, err := table.LoadTree(v, k, st)
	if err != nil {
		return err
	}
	winner, name := t.Winner(), k.FormatID(st.ID)
	if winner.Revision != st.Revision || winner.Deleted != st.Deleted || (t.Len() > 1 && winner.Parent.Hash != st.Parent) {
		return fmt.Errorf("record %s is not what its tree says", name)
	}
	if st.Branched != (len(t.Leaves()) > 1) {
		return fmt.Errorf("record %s says wrongly whether its tree has branches", name)
	}
	for _, n := range t.Nodes() {
		if !isKept(st, n) {
			continue
		}
		body, err := table.KeptBody(v, k, st.ID, n.Revision)
		if err != nil || body == nil {
			return errors.Join(err, fmt.Errorf("record %s lacks the body of %s", name, n.Revision))
		}
		d, err := body.Decode(k)
		if err != nil {
			return err
		}
		isCut := n.Revision.Generation > 1 && n.Parent == rev.ID{}
		if !isCut && isMisnamed(k, body, d, n.Parent) {
			return fmt.Errorf("record %s: a kept body does not hash to %s", name, n.Revision)
		}
	}
	return nil
}

// isKept tells whether the body of a revision of a record has a row of its own.
func isKept(st *table.Stored, n rev.Node) bool {
	return n.Held && !n.Deleted && n.Revision != st.Revision
}

// verifyKept checks that the tree of a record needs a kept body.
func verifyKept(v *table.View, k *record.Kind, st *table.Stored, rest []byte) error {
	if len(rest) != 8+16 {
		return engine.ErrCorrupt
	}
	rev := rev.ID{Generation: binary.BigEndian.Uint64(rest), Hash: [16]byte(rest[8:])}
	t, err := table.LoadTree(v, k, st)
	if err != nil {
		return err
	}
	if !isKept(st, t.Find(rev)) {
		return fmt.Errorf("record %s keeps the body of %s without need", k.FormatID(st.ID), rev)
	}
	return nil
}

// verifyLogs checks that a record has its row in the log, and in that of each of its scopes.
func verifyLogs(v *table.View, k *record.Kind, st *table.Stored) error {
	row, err := v.Get(table.LogBucket, table.SeqKey(st.Seq))
	if err != nil || row == nil {
		return errors.Join(err, fmt.Errorf("record %s has no row in the log", k.FormatID(st.ID)))
	}
	for _, s := range st.Scopes {
		if s.Sort == 0 {
			continue
		}
		row, err := v.Get(table.ScopeLogBucket, table.ScopeSeqKey(nil, s, st.Seq))
		if err != nil || row == nil {
			return errors.Join(err, fmt.Errorf("record %s has no row in the log of a scope", k.FormatID(st.ID)))
		}
	}
	return nil
}

// verifyScopeRow checks that a row of a scope's log is its record's latest change, or that the record has left with it.
func verifyScopeRow(v *table.View, b engine.Bucket, key, value []byte) error {
	s, rest, err := table.CutScope(key)
	if err != nil || len(rest) != 8 {
		return engine.ErrCorrupt
	}
	if len(value) > 0 && value[0] == table.OpaqueKind {
		return docs.VerifyOpaque(v, b, key, value)
	}
	c, removed, err := table.ParseLogRow(binary.BigEndian.Uint64(rest), value)
	if err != nil {
		return err
	}
	st, err := v.LoadAny(c.Kind, c.ID)
	if err != nil {
		return err
	}
	if removed {
		left, err := v.Get(table.LeftBucket, table.LeftKey(c.Kind, c.ID, s))
		if err != nil || st == nil || st.In(s) || len(left) != 8 || binary.BigEndian.Uint64(left) != c.Seq {
			return errors.Join(err, fmt.Errorf("row %d of a scope says wrongly that its record has left", c.Seq))
		}
		return nil
	}
	if !isLatest(st, &c) || !st.In(s) {
		return fmt.Errorf("row %d of a scope is not its record's latest change", c.Seq)
	}
	return nil
}

// verifyLeft checks that the log of a scope has the row with which a record has left it.
func verifyLeft(v *table.View, k *record.Kind, st *table.Stored, rest, value []byte) error {
	s, rest, err := table.CutScope(rest)
	if err != nil || len(rest) != 0 || len(value) != 8 {
		return engine.ErrCorrupt
	}
	row, err := v.Get(table.ScopeLogBucket, table.ScopeSeqKey(nil, s, binary.BigEndian.Uint64(value)))
	if err != nil || row == nil || st.In(s) {
		return errors.Join(err, fmt.Errorf("record %s has left a scope whose log does not say so", k.FormatID(st.ID)))
	}
	return nil
}
