package laptop

import (
	"slices"

	"doorward/kv/auth"
	"doorward/kv/inbox"
	"doorward/kv/record"
	"doorward/kv/table"
)

// ReleaseRefusals removes the refusals of a database of records that is dropped for good, decided or not, because their records are gone. A
// refusal about a record in one of the kept databases stays. It returns *Forbidden, or ErrNotFound if the name is no database of records.
func (lp *Laptop) ReleaseRefusals(p auth.Principal, name string, kept ...string) error {
	h, err := newHandover(p, name, kept)
	if err != nil {
		return err
	}
	var ids []record.ID
	err = lp.tables.EachRow(table.KindBucket(record.Refusal), nil, func(v *table.View, key, row []byte) error {
		id, _ := record.Refusal.KeyID(key) // its length is right
		goes, err := goesWith(v, h, id, row)
		if goes {
			ids = append(ids, id)
		}
		return err
	})
	for some := range slices.Chunk(ids, table.MaxRows) {
		if err == nil {
			err = lp.tables.Do(func(o *table.Tx) error { return inbox.PurgeRefusals(o, some) })
		}
	}
	return err
}

// goesWith tells whether a refusal goes with a database that is dropped.
func goesWith(v *table.View, h *handover, id record.ID, row []byte) (bool, error) {
	st, err := table.ListedRow(v, record.Refusal, id, row)
	if err != nil || st == nil {
		return false, err
	}
	d, err := st.Decode(record.Refusal)
	if err != nil || d.Text("db") != h.scope.String() {
		return false, err
	}
	k, of, _ := table.ListedRecord(record.Refusal, d)
	if k == nil {
		return true, nil // of a kind that this version does not know
	}
	about, err := v.LoadAny(k, of)
	return err == nil && (about == nil || !h.keeps(about)), err
}
