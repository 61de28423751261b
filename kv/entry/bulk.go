package entry

import "doorward/kv/record"

// Row is one record of a bulk import. The patch may carry "external_id"; ID is zero where the source gives none.
type Row struct {
	Kind       *record.Kind
	ID         record.ID
	Patch      *record.Patch
	Reinstates bool // it may let a ticket in that is blocked, refunded or cancelled here
}

// KeyField is the field that a row's record is known by.
func (in *Input) KeyField(row Row) string {
	ext := in.Text("external_id")
	switch {
	case ext != "":
		return "external_id"
	case !row.ID.IsZero():
		return "id"
	case in.Coded:
		return "code"
	}
	return "person"
}
