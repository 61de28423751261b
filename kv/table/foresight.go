package table

import (
	"bytes"

	"doorward/kv/record"
)

// Kept is the record on memory of its own.
func (st *Stored) Kept() *Stored {
	own := *st
	own.Body = record.Body{Shown: bytes.Clone(st.Body.Shown), Hidden: bytes.Clone(st.Body.Hidden)}
	return &own
}
