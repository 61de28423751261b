package merge

import (
	"slices"

	"doorward/kv/record"
)

// SettleBranch gives an edit beside the present revision its values as they are stored: a merge takes them over as they stand, and
// no revision follows that would set them. One that stands on the present revision, however many lie between, keeps its body.
func (a *Arrival) SettleBranch(patch *record.Patch) {
	if a.Before == nil || slices.Contains(a.Path, a.Before.Revision) {
		return
	}
	settled := a.Doc.Clone()
	if len(settled.Apply(patch)) > 0 {
		a.remake(settled)
	}
}
