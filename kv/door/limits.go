package door

import (
	"doorward/kv/record"
	"doorward/kv/table"
)

// MayBringCheckin returns a *Forbidden if a code has as many check-ins as laptops may bring.
func MayBringCheckin(o *table.Tx, d *record.Doc) error {
	letter := byte(table.ByCode)
	if d.Text("direction") == string(table.Out) {
		letter = byCodeOut
	}
	of := codeRows([]byte{letter}, d.Int("event_id"), table.HashOf(d.Value("code_hash")), d.Text("list"))
	return table.Fewer(o.View, table.AdmissionBucket, of, o.Store.Limits.Checkins, "the code has been checked in too often")
}
