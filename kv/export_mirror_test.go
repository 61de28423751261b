package kv

import (
	"testing"

	"doorward/kv/laptop"
	"doorward/kv/record"
	"doorward/kv/table"
)

// PulledSum is the hash that is kept of what was pulled of a record.
func PulledSum(t testing.TB, s *Store, k *record.Kind, id int64) (sum [16]byte) {
	t.Helper()
	err := s.Tables.View(func(v *table.View) error {
		p, err := laptop.LoadPulled(v, k, record.Int(id))
		if err == nil {
			sum = p.Sum
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
