package table

import (
	"encoding/binary"

	"doorward/kv/engine"
	"doorward/kv/record"
)

// PassOver moves a kind's mark on. At a root nobody knows to whom the ids between were leased: records that laptops have made of them
// are taken.
func PassOver(w *engine.Tx, s *state, k *record.Kind, gap int64, root bool) {
	from := s.Minted[k.Number] + 1
	s.Minted[k.Number] += gap
	if LeaseSize(k) > 0 && root {
		w.Put(LeaseBucket, LeaseKey(LeaseGiven, k, from), binary.AppendUvarint(SeqKey(uint64(from+gap-1)), Forgotten))
	}
}
