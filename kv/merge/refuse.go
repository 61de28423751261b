package merge

import "doorward/kv/rev"

// Named is a document's name, and nothing of what it says.
func (in *DocWrite) Named() *DocWrite {
	only := &DocWrite{ID: in.ID[:min(len(in.ID), MaxDocID)]}
	if len(in.Path) > 0 && in.Path[0] != (rev.ID{}) {
		only.Path = in.Path[:1]
	}
	return only
}
