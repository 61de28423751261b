package kv

import (
	"encoding/binary"
	"slices"

	"doorward/kv/record"
	"doorward/kv/scopes"
)

// Each scope has a log of its own, so that a feed costs the changes of its scope: a row for each record that is in it, at the
// record's latest sequence, and one for each that has left, at the sequence of the change by which it did.

// appendScope writes a scope's part of a key: sort 1, id uv.
func appendScope(dst []byte, s scopes.Scope) []byte {
	return binary.AppendUvarint(append(dst, byte(s.Sort)), uint64(s.ID))
}

// scopeSeqKey names a row of a scope's log.
func scopeSeqKey(dst []byte, s scopes.Scope, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(appendScope(dst, s), seq)
}

// leftKey names what is kept of a record that has left a scope.
func leftKey(k *record.Kind, id record.ID, s scopes.Scope) []byte {
	return appendScope(k.AppendID([]byte{k.Number}, id), s)
}

// in tells whether the record is in a scope.
func (h *header) in(s scopes.Scope) bool { return slices.Contains(h.scopes[:], s) }

// moveScopes moves a record's rows in the logs of its scopes to their ends. row is its row in the log of all.
func moveScopes(o *op, k *record.Kind, before, next *stored, row []byte) {
	var key [24]byte
	if before != nil {
		for _, s := range before.scopes {
			if s.Sort == 0 {
				continue
			}
			o.delete(scopeLogBucket, scopeSeqKey(key[:0], s, before.seq))
			if !next.in(s) {
				o.put(scopeLogBucket, scopeSeqKey(key[:0], s, next.seq), appendLog(nil, k, before, rowRemoved))
				o.put(leftBucket, leftKey(k, next.id, s), seqKey(next.seq))
			}
		}
	}
	for _, s := range next.scopes {
		if s.Sort != 0 {
			o.put(scopeLogBucket, scopeSeqKey(key[:0], s, next.seq), row)
		}
	}
}

// welcome takes away what says that a record has left the scopes which it comes back to.
func welcome(o *op, k *record.Kind, before, next *stored) error {
	if before == nil {
		return nil // what was never here has left nothing
	}
	for _, s := range next.scopes {
		if s.Sort == 0 || before.in(s) {
			continue
		}
		key := leftKey(k, next.id, s)
		row, err := o.Get(leftBucket, key)
		if err != nil {
			return err
		}
		if len(row) == 8 {
			o.delete(scopeLogBucket, scopeSeqKey(nil, s, binary.BigEndian.Uint64(row)))
			o.delete(leftBucket, key)
		}
	}
	return nil
}
