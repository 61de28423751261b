package merge

import (
	"bytes"
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/table"
)

// Closes tells a tombstone that only ends a branch which a merge took in: the record stays.
func (a *Arrival) Closes() bool {
	return a.Node.Ended && !slices.Contains(a.Path, a.Before.Revision)
}

// AnyNew is one of a document's fields that the record has not as it is; "" where it has them all.
func (a *Arrival) AnyNew(d *record.Doc, names []string) string {
	for _, name := range names {
		if a.Before == nil || !bytes.Equal(a.Before.Body.Member(name), d.Value(name)) {
			return name
		}
	}
	return ""
}

// IsOnlyOf tells that one node alone has made all revisions of a record.
func (a *Arrival) IsOnlyOf(node string) bool {
	own, err := ulid.ParseStrict(node)
	return err == nil && a.Node.Node == own && table.IsOnlyOf(&a.Tree, own)
}
