package docs

import (
	"slices"

	"doorward/kv/disk"
	"doorward/kv/merge"
	"doorward/kv/record"
)

// useOf returns the use that the documents of one operation need disk room for. Facts count as check-ins, from any source: a laptop
// pushes its own facts, and it must learn of admissions elsewhere so that it does not admit again. Other documents of the
// operation count the same, because an operation cannot be taken in part.
func useOf(writes []merge.DocWrite) disk.Use {
	isFact := func(w merge.DocWrite) bool {
		k, _, ok := record.ParseDocID(w.ID)
		return ok && k.Fact
	}
	switch {
	case slices.ContainsFunc(writes, isFact):
		return disk.Checkins
	case len(writes) == 1:
		return disk.Creates
	}
	return disk.Imports
}
