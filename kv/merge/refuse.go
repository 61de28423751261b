package merge

import (
	"doorward/kv/record"
	"doorward/kv/rev"
)

// Named is a document's name, and nothing of what it says.
func (in *DocWrite) Named() *DocWrite {
	only := &DocWrite{ID: in.ID[:min(len(in.ID), MaxDocID)]}
	if len(in.Path) > 0 && in.Path[0] != (rev.ID{}) {
		only.Path = in.Path[:1]
	}
	return only
}

// WithoutNames is a document of a kind without what is personal in it, as far as it can be read at all.
func (in *DocWrite) WithoutNames(k *record.Kind) *DocWrite {
	less := *in
	less.Content = nil
	if d, err := in.decode(k); err == nil && !in.Deleted {
		less.Content = d.Erased().Canonical()
	}
	return &less
}
