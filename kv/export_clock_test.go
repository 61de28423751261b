package kv

// Observe meets a stamp of another node's hybrid clock, as replicating a fact of it does.
func Observe(s *Store, stamp uint64) error {
	return s.do(false, func(o *op) error {
		o.state.observe(stamp, o.now)
		o.put(metaBucket, []byte("observed"), nil) // an operation that writes nothing leaves no trace
		return nil
	})
}
