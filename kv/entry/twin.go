package entry

import (
	"slices"

	"doorward/kv/record"
)

// SameKeys tells two bodies of a record that are known by the same.
func SameKeys(a, b *record.Doc) bool {
	return !slices.ContainsFunc([]string{"external_id", "event_id", "code_hash", "group_id", "person"}, func(field string) bool {
		return string(a.Value(field)) != string(b.Value(field))
	})
}
