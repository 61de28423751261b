package kv

// Report is what Verify found.
type Report struct {
	Rows    int      // values read
	Records int      // live records
	Damage  []string // one sentence each, without any record's content; at most 100
	Damaged int      // all of them
}

// Verify reads the whole store: every checksum, every record against its lookups and its row in the log and back. progress,
// if not nil, is told now and then how many of how many rows are done.
func (s *Store) Verify(p Principal, progress func(done, total int)) (Report, error) { panic("kv") }
