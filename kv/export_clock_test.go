package kv

import "doorward/kv/table"

// Observe meets a stamp of another node's hybrid clock, as replicating a fact of it does.
func Observe(s *Store, stamp uint64) error {
	return s.Tables.Do(false, func(o *table.Tx) error {
		o.State.Observe(stamp, o.Now)
		o.Put(table.MetaBucket, []byte("observed"), nil) // an operation that writes nothing leaves no trace
		return nil
	})
}
