package entry

import "doorward/kv/table"

// MaxRecordDoc is how many bytes a record's document may have.
const MaxRecordDoc = 1 << 20

// fitting answers ErrTooLarge for a record that was written and that no other store would take: then nothing is.
func fitting(st *table.Stored, err error) (*table.Stored, error) {
	if err == nil && len("{,}")+len(st.Body.Shown)+len(st.Body.Hidden) > MaxRecordDoc {
		return nil, ErrTooLarge
	}
	return st, err
}
