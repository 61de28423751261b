package table

import "doorward/kv/engine"

// countDoubles reads how many double entries there are. One that is damaged is left out of the number.
func (s *Set) countDoubles(r *engine.View, found *damages) {
	n := int64(0)
	Sound(r, AdmissionBucket, []byte{ByDouble}, func(_, _ []byte) { n++ }, func(key []byte) { found.add(DamagedRow(AdmissionBucket, key)) })
	s.Doubles.Store(n)
}
