package kv

import (
	"encoding/binary"
	"errors"
	"fmt"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
)

// verifyReplica checks a row that belongs to a record's history against the record.
func verifyReplica(v *sight, b bucket, key, value []byte) error {
	if b == scopeLogBucket {
		return verifyScopeRow(v, key, value)
	}
	k, id, rest, err := cutRecord(key)
	if err != nil {
		return err
	}
	st, err := v.loadAny(k, id)
	if err != nil {
		return err
	}
	if st == nil {
		return fmt.Errorf("a row of %s %s, which was never there", k.Name, k.FormatID(id))
	}
	switch b {
	case treeBucket:
		return nil // the record has looked at it
	case leftBucket:
		return verifyLeft(v, k, st, rest, value)
	}
	return verifyKept(v, k, st, rest)
}

// verifyTree checks that a record is what its tree says, and that the bodies which the tree holds are there.
func verifyTree(v *sight, k *record.Kind, st *stored) error {
	row, err := v.Get(treeBucket, treeKey(k, st.id))
	if err != nil {
		return err
	}
	if row == nil && !st.branched {
		return nil // its tree is what the record says itself
	}
	t, err := loadTree(v, k, st)
	if err != nil {
		return err
	}
	winner, name := t.Winner(), k.FormatID(st.id)
	if winner.Revision != st.revision || winner.Deleted != st.deleted || (t.Len() > 1 && winner.Parent.Hash != st.parent) {
		return fmt.Errorf("record %s is not what its tree says", name)
	}
	if st.branched != (len(t.Leaves()) > 1) {
		return fmt.Errorf("record %s says wrongly whether its tree has branches", name)
	}
	for _, n := range t.Nodes() {
		if !n.Held || n.Deleted || n.Revision == st.revision {
			continue
		}
		body, err := keptBody(v, k, st.id, n.Revision)
		if err != nil || body == nil {
			return errors.Join(err, fmt.Errorf("record %s lacks the body of %s", name, n.Revision))
		}
		d, err := body.decode(k)
		if err != nil {
			return err
		}
		ours := body.version == k.Version && !body.foreign && (n.Revision.Generation == 1 || n.Parent != rev.ID{})
		if ours && rev.Next(n.Parent, false, d.Canonical()) != n.Revision {
			return fmt.Errorf("record %s: a kept body does not hash to %s", name, n.Revision)
		}
	}
	return nil
}

// verifyKept checks that a kept body is one that its record's tree holds.
func verifyKept(v *sight, k *record.Kind, st *stored, rest []byte) error {
	if len(rest) != 8+16 {
		return ErrCorrupt
	}
	rev := rev.ID{Generation: binary.BigEndian.Uint64(rest), Hash: [16]byte(rest[8:])}
	t, err := loadTree(v, k, st)
	if err != nil {
		return err
	}
	if n := t.Find(rev); !n.Held || n.Deleted || rev == st.revision {
		return fmt.Errorf("record %s keeps the body of %s without need", k.FormatID(st.id), rev)
	}
	return nil
}

// verifyLogs checks that a record has its row in the log, and in that of each of its scopes.
func verifyLogs(v *sight, k *record.Kind, st *stored) error {
	row, err := v.Get(logBucket, seqKey(st.seq))
	if err != nil || row == nil {
		return errors.Join(err, fmt.Errorf("record %s has no row in the log", k.FormatID(st.id)))
	}
	for _, s := range st.scopes {
		if s.Sort == 0 {
			continue
		}
		row, err := v.Get(scopeLogBucket, scopeSeqKey(nil, s, st.seq))
		if err != nil || row == nil {
			return errors.Join(err, fmt.Errorf("record %s has no row in the log of a scope", k.FormatID(st.id)))
		}
	}
	return nil
}

// cutScope takes a scope off the front of a key.
func cutScope(key []byte) (s scopes.Scope, rest []byte, err error) {
	c := cutter{rest: key}
	s.Sort, s.ID = scopes.Sort(c.byte()), int64(c.uvarint())
	if c.short || s.Sort == 0 {
		return s, nil, ErrCorrupt
	}
	return s, c.rest, nil
}

// verifyScopeRow checks that a row of a scope's log is its record's latest change, or that the record has left with it.
func verifyScopeRow(v *sight, key, value []byte) error {
	s, rest, err := cutScope(key)
	if err != nil || len(rest) != 8 {
		return ErrCorrupt
	}
	if len(value) > 0 && value[0] == opaqueKind {
		return verifyOpaqueLog(v, s, binary.BigEndian.Uint64(rest), value)
	}
	c, removed, err := parseLogRow(binary.BigEndian.Uint64(rest), value)
	if err != nil {
		return err
	}
	st, err := v.loadAny(c.Kind, c.ID)
	if err != nil {
		return err
	}
	if removed {
		left, err := v.Get(leftBucket, leftKey(c.Kind, c.ID, s))
		if err != nil || st == nil || st.in(s) || len(left) != 8 || binary.BigEndian.Uint64(left) != c.Seq {
			return errors.Join(err, fmt.Errorf("row %d of a scope says wrongly that its record has left", c.Seq))
		}
		return nil
	}
	if st == nil || !st.in(s) || st.seq != c.Seq || st.revision != c.Revision || st.deleted != c.Deleted || st.branched != c.Branched {
		return fmt.Errorf("row %d of a scope is not its record's latest change", c.Seq)
	}
	return nil
}

// verifyLeft checks that the row is there by which a record has left a scope.
func verifyLeft(v *sight, k *record.Kind, st *stored, rest, value []byte) error {
	s, rest, err := cutScope(rest)
	if err != nil || len(rest) != 0 || len(value) != 8 {
		return ErrCorrupt
	}
	row, err := v.Get(scopeLogBucket, scopeSeqKey(nil, s, binary.BigEndian.Uint64(value)))
	if err != nil || row == nil || st.in(s) {
		return errors.Join(err, fmt.Errorf("record %s has left a scope whose log does not say so", k.FormatID(st.id)))
	}
	return nil
}
