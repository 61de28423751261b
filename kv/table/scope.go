package table

import (
	"encoding/binary"
	"slices"

	"doorward/kv/record"
	"doorward/kv/scopes"
)

// Each scope has a log of its own, so that a feed costs the changes of its scope: a row for each record that is in it, at the
// record's latest sequence, and one for each that has left, at the sequence of the change by which it did.

// AppendScope writes a scope's part of a key: sort 1, id uv.
func AppendScope(dst []byte, s scopes.Scope) []byte {
	return binary.AppendUvarint(append(dst, byte(s.Sort)), uint64(s.ID))
}

// ScopeSeqKey names a row of a scope's log.
func ScopeSeqKey(dst []byte, s scopes.Scope, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(AppendScope(dst, s), seq)
}

// LeftKey names what is kept of a record that has left a scope.
func LeftKey(k *record.Kind, id record.ID, s scopes.Scope) []byte {
	return AppendScope(k.AppendID([]byte{k.Number}, id), s)
}

// In tells whether the record is in a scope.
func (h *Header) In(s scopes.Scope) bool { return slices.Contains(h.Scopes[:], s) }

// moveScopes moves a record's rows in the logs of its scopes to their ends. row is its row in the log of all.
func moveScopes(o *Tx, k *record.Kind, before, next *Stored, row []byte) {
	var key [24]byte
	if before != nil {
		for _, s := range before.Scopes {
			if s.Sort == 0 {
				continue
			}
			o.Delete(ScopeLogBucket, ScopeSeqKey(key[:0], s, before.Seq))
			if !next.In(s) {
				o.Put(ScopeLogBucket, ScopeSeqKey(key[:0], s, next.Seq), AppendLog(nil, k, before, RowRemoved))
				o.Put(LeftBucket, LeftKey(k, next.ID, s), SeqKey(next.Seq))
			}
		}
	}
	for _, s := range next.Scopes {
		if s.Sort != 0 {
			o.Put(ScopeLogBucket, ScopeSeqKey(key[:0], s, next.Seq), row)
		}
	}
}

// Welcome takes away what says that a record has left the scopes which it comes back to.
func Welcome(o *Tx, k *record.Kind, before, next *Stored) error {
	if before == nil {
		return nil // what was never here has left nothing
	}
	for _, s := range next.Scopes {
		if s.Sort == 0 || before.In(s) {
			continue
		}
		key := LeftKey(k, next.ID, s)
		row, err := o.Get(LeftBucket, key)
		if err != nil {
			return err
		}
		if len(row) == 8 {
			o.Delete(ScopeLogBucket, ScopeSeqKey(nil, s, binary.BigEndian.Uint64(row)))
			o.Delete(LeftBucket, key)
		}
	}
	return nil
}
