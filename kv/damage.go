package kv

import (
	"doorward/kv/backup"
	"doorward/kv/engine"
	"doorward/kv/table"
)

// Inspect looks at a file that cannot be opened, page by page, and names every page and row that is damaged as far as sound pages lead to
// them. It trusts nothing that it reads, and never maps the file. No process writes to a file that Open refuses, so it takes no lock.
// A *BadFile is a file that holds no pages of a store.
func Inspect(dir string) (backup.Report, error) {
	var rep backup.Report
	reason, err := engine.Walk(table.Path(dir), &table.Schema, engine.Findings{
		Page: func(page uint64, reason string) { rep.AddDamage(table.Damage{Page: page, Reason: reason}) },
		Row: func(b engine.Bucket, key, value []byte, err error) {
			rep.Rows++
			if err != nil {
				rep.AddDamage(table.DamagedRow(b, key))
				return
			}
			var st table.Stored
			if b >= table.FirstKindBucket && st.Parse(value) == nil && !st.Deleted {
				rep.Records++
			}
		},
	})
	if reason != "" {
		rep.AddDamage(table.Damage{Reason: "the file " + reason})
	}
	return rep, err
}
