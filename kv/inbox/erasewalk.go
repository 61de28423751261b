package inbox

import (
	"doorward/kv/record"
	"doorward/kv/table"
)

// EachListed calls fn with all conflicts or all refusals.
func EachListed(s *table.Set, listed *record.Kind, fn func(*table.Stored, *record.Doc)) error {
	return s.EachRow(table.KindBucket(listed), nil, func(v *table.View, key, row []byte) error {
		id, _ := listed.KeyID(key) // its length is right
		st, err := table.ListedRow(v, listed, id, row)
		if err != nil || st == nil {
			return err
		}
		d, err := st.Decode(listed)
		if err == nil {
			fn(st, d)
		}
		return err
	})
}
