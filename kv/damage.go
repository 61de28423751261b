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
	bad := func(page uint64, reason string) { rep.AddDamage(table.Damage{Page: page, Reason: reason}) }
	reason, err := engine.Walk(table.Path(dir), &table.Schema, bad, func(b engine.Bucket, row engine.Row) {
		rep.Rows++
		value, err := row.Value()
		if err != nil {
			rep.AddDamage(table.DamagedRow(b, row.Key))
			return
		}
		var st table.Stored
		if b >= table.FirstKindBucket && st.Parse(value) == nil && !st.Deleted {
			rep.Records++
		}
	})
	if reason != "" {
		rep.AddDamage(table.Damage{Reason: "the file " + reason})
	}
	return rep, err
}
