package kv

import (
	"testing"

	"doorward/kv/record"
)

// PulledSum is the hash that is kept of what was pulled of a record.
func PulledSum(t testing.TB, s *Store, k *record.Kind, id int64) (sum [16]byte) {
	t.Helper()
	err := s.view(func(v *sight) error {
		p, err := loadPulled(v, k, record.Int(id))
		if err == nil {
			sum = p.sum
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
