package table

import (
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/rev"
)

func IsOnlyOf(t *rev.Tree, own ulid.ULID) bool {
	return !slices.ContainsFunc(t.Nodes(), func(n rev.Node) bool {
		return n.Node != own && (n.Held || n.Deleted || n.At != 0) // else only its name is known
	})
}
