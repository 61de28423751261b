package backup

import (
	"hash/maphash"

	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/table"
)

// balance holds the rows that records must have in other buckets against those that are there, without looking for any: each is a number
// drawn by its hash, added where a record wants it and taken off where it is met. Where all are there, and no others, nothing is left;
// else something is, but once in 2^64 times.
type balance struct {
	hash maphash.Hash
	left uint64
	log  []byte // reused
	key  []byte // reused
}

// newBalance makes one. Those that are to be summed up have one seed.
func newBalance(seed maphash.Seed) *balance {
	a := &balance{}
	a.hash.SetSeed(seed)
	return a
}

// counts tells whether a row is one of those that records want, so that nothing else need be known of it.
func (a *balance) counts(b engine.Bucket, key, value []byte) bool {
	switch b {
	case table.LookupBucket, table.CodeBucket, table.LogBucket:
		return true
	case table.AdmissionBucket:
		return key[0] != table.ByDouble
	case table.ScopeLogBucket:
		return len(value) > 1 && value[0] != table.OpaqueKind && value[1]&table.RowRemoved == 0
	}
	return false
}

// want says that a row must be there.
func (a *balance) want(b engine.Bucket, key, value []byte) { a.left += a.number(b, key, value) }

// met says that a row is there.
func (a *balance) met(b engine.Bucket, key, value []byte) { a.left -= a.number(b, key, value) }

// wantLogs says that a record must have its row in the log, and in that of each of its scopes.
func (a *balance) wantLogs(k *record.Kind, st *table.Stored) {
	a.log = table.AppendLog(a.log[:0], k, st, 0)
	a.want(table.LogBucket, table.SeqKey(st.Seq), a.log)
	for _, s := range st.Scopes {
		if s.Sort != 0 {
			a.key = table.ScopeSeqKey(a.key[:0], s, st.Seq)
			a.want(table.ScopeLogBucket, a.key, a.log)
		}
	}
}

// number is what stands for a row. Keys of one length, or that say their own, need nothing between them and their values: others here
// have no value.
func (a *balance) number(b engine.Bucket, key, value []byte) uint64 {
	a.hash.Reset()
	_ = a.hash.WriteByte(byte(b)) // it never fails
	_, _ = a.hash.Write(key)
	_, _ = a.hash.Write(value)
	return a.hash.Sum64()
}
