package kv

import (
	"testing"

	"doorward/kv/record"
)

// StopErasing ends every erasure of a store where fn answers an error for the step that is done.
func StopErasing(s *Store, fn func(step string) error) { s.erasures.stop = fn }

// LedgerName is the file of what was erased.
const LedgerName = ledgerName

// ShareCodeKey gives a store the code key of another, as joining it does.
func ShareCodeKey(t testing.TB, from, to *Store) {
	t.Helper()
	to.identity.family.Store(from.identity.family.Load())
}

// AwaitErasures waits until a store has carried out what it was told of.
func AwaitErasures(t testing.TB, s *Store) {
	t.Helper()
	if err := s.finishErasures(); err != nil {
		t.Fatal(err)
	}
}

// HashErased is what an erasure of a record says of it.
func HashErased(s *Store, k *record.Kind, id int64) [16]byte {
	return s.hashErased(k, record.Int(id))
}
