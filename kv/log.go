package kv

import "doorward/kv/record"

// Change is one row of the change log: the latest change of one record.
type Change struct {
	Seq      uint64
	Kind     *record.Kind
	ID       record.ID
	Revision record.Revision
	Deleted  bool
}

// Changes reads the log after a sequence, oldest first, at most limit rows.
func (s *Store) Changes(p Principal, since uint64, limit int) ([]Change, error) { panic("kv") }

// Export calls fn with every record of a kind in id order: one JSON object that Upsert's parser reads back. It holds no
// transaction while fn runs.
func (s *Store) Export(p Principal, k *record.Kind, fn func(json []byte) error) error { panic("kv") }
