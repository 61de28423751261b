package backup

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/oklog/ulid/v2"

	"doorward/kv/docs"
	"doorward/kv/engine"
	"doorward/kv/entry"
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
	c, err := table.ParseScopeLog(binary.BigEndian.Uint64(rest), value)
	if err != nil {
		return err
	}
	if c.Kind == nil {
		return docs.VerifyOpaque(v, b, key, value)
	}
	st, err := v.LoadAny(c.Kind, c.ID)
	if err != nil {
		return err
	}
	if c.Removed {
		left, err := v.Get(table.LeftBucket, table.LeftKey(c.Kind, c.ID, s))
		if err != nil || st == nil || st.In(s) || len(left) != 8 || binary.BigEndian.Uint64(left) != c.Seq {
			return errors.Join(err, fmt.Errorf("row %d of a scope says wrongly that its record has left", c.Seq))
		}
		return nil
	}
	if !isLatest(st, &c.Change) || !st.In(s) {
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

// verifyLease checks a range of ids: its kind is one that is leased, it is in order, and it begins after the range before it.
func verifyLease(v *table.View, _ engine.Bucket, key, value []byte) error {
	if len(key) < 2 || len(value) < 8 {
		return engine.ErrCorrupt
	}
	k, ok := record.ByNumber(key[1])
	if !ok || table.LeaseSize(k) == 0 {
		return fmt.Errorf("a lease of kind %d, of which none are leased: %w", key[1], engine.ErrCorrupt)
	}
	to := int64(binary.BigEndian.Uint64(value))
	if key[0] == table.LeaseLast && len(key) == 2 && len(value) == 8 && to > 0 && to < record.FirstDrawn {
		return nil
	}
	if len(key) != 10 {
		return engine.ErrCorrupt
	}
	from := int64(binary.BigEndian.Uint64(key[2:]))
	if from < 1 || to < from || to >= record.FirstDrawn {
		return fmt.Errorf("a lease of %s ids from %d to %d: %w", k.Name, from, to, engine.ErrCorrupt)
	}
	var err error
	switch key[0] {
	case table.LeaseGiven:
		err = verifyGiven(v, k, to, value[8:])
	case table.LeaseTaken:
		err = verifyTaken(v, k, from, to, value)
	default:
		err = engine.ErrCorrupt
	}
	if err == nil {
		err = verifyApart(v, key, from)
	}
	return err
}

// verifyGiven checks that the row of a leased range names its holder, and that the root mints no id of the range.
func verifyGiven(v *table.View, k *record.Kind, to int64, holder []byte) error {
	c := table.Cutter{Rest: holder}
	c.Uvarint()
	if _, err := ulid.ParseStrict(string(c.Rest)); c.Short || err != nil && len(c.Rest) > 0 {
		return fmt.Errorf("nobody is known to hold a lease of %s ids: %w", k.Name, engine.ErrCorrupt)
	}
	if v.Store.Identity.IsLeaf() {
		return nil // it was cut off a range that this store was leased
	}
	s, err := table.ReadState(v.View)
	if err == nil && to > s.Minted[k.Number] {
		err = fmt.Errorf("%s ids up to %d are leased, and those from %d on are minted here", k.Name, to, s.Minted[k.Number]+1)
	}
	return err
}

// verifyTaken checks the rest of a range, and that the row of the last id covers it.
func verifyTaken(v *table.View, k *record.Kind, from, to int64, value []byte) error {
	_, next, err := entry.ParseTaken(value)
	if err != nil || len(value) != 16 || next < from || next > to {
		return fmt.Errorf("of a lease of %s ids nothing is left: %w", k.Name, engine.ErrCorrupt)
	}
	last, err := v.Get(table.LeaseBucket, []byte{table.LeaseLast, k.Number})
	if err != nil || len(last) != 8 || int64(binary.BigEndian.Uint64(last)) < to {
		return fmt.Errorf("a lease of %s ids ends beyond the last that was taken: %w", k.Name, table.OrCorrupt(err))
	}
	return nil
}

// verifyApart checks that the range before one ends before it begins.
func verifyApart(v *table.View, key []byte, from int64) error {
	return v.Walk(table.LeaseBucket, true, key[:2], binary.BigEndian.AppendUint64(append([]byte(nil), key[:2]...), uint64(from-1)), func(_, row []byte) (bool, error) {
		if len(row) < 8 || int64(binary.BigEndian.Uint64(row)) >= from {
			return false, fmt.Errorf("two leases of ids of kind %d overlap at %d", key[1], from)
		}
		return false, nil
	})
}
