package table

import (
	"cmp"
	"slices"

	"doorward/kv/scopes"
)

// countChunks is how many parts the counts of all scopes have: a commit copies those that it changes.
const countChunks = 64

// scopeCounts are how many records each scope holds, live and deleted; the zero Scope stands for all records. They are derived,
// as the lists are, and published with them.
type scopeCounts [countChunks]*countChunk

// countChunk is sorted by scope. edit may still change it.
type countChunk struct {
	edit   uint64
	Counts []scopeCount
}

type scopeCount struct {
	Scope         scopes.Scope
	Live, Deleted int
}

// scopeMark is what a record counts as; the zero scopeMark does not count.
type scopeMark struct {
	scopes        [2]scopes.Scope
	live, deleted bool
	opaque        bool // none of all records
}

func (h *Header) Mark() scopeMark {
	return scopeMark{scopes: h.Scopes, live: !h.Deleted, deleted: h.Deleted}
}

func compareScopes(a, b scopes.Scope) int {
	if a.Sort != b.Sort {
		return cmp.Compare(a.Sort, b.Sort)
	}
	return cmp.Compare(a.ID, b.ID)
}

func chunkOf(s scopes.Scope) int { return int((uint64(s.ID)*7 + uint64(s.Sort)) % countChunks) }

func (c *countChunk) place(s scopes.Scope) (int, bool) {
	return slices.BinarySearchFunc(c.Counts, s, func(c scopeCount, s scopes.Scope) int { return compareScopes(c.Scope, s) })
}

// Of is the count of one scope.
func (c *scopeCounts) Of(s scopes.Scope) scopeCount {
	if chunk := c[chunkOf(s)]; chunk != nil {
		if i, ok := chunk.place(s); ok {
			return chunk.Counts[i]
		}
	}
	return scopeCount{Scope: s}
}

// note counts a record n times more in each of its scopes.
func (c *scopeCounts) note(edit uint64, m *scopeMark, n int) {
	if !m.live && !m.deleted {
		return
	}
	if !m.opaque {
		c.add(edit, scopes.Scope{}, m, n)
	}
	for _, s := range m.scopes {
		if s.Sort != 0 {
			c.add(edit, s, m, n)
		}
	}
}

func (c *scopeCounts) add(edit uint64, s scopes.Scope, m *scopeMark, n int) {
	at := &c[chunkOf(s)]
	if *at == nil {
		*at = &countChunk{edit: edit}
	} else if (*at).edit != edit {
		*at = &countChunk{edit: edit, Counts: slices.Clone((*at).Counts)}
	}
	i, ok := (*at).place(s)
	if !ok {
		(*at).Counts = slices.Insert((*at).Counts, i, scopeCount{Scope: s})
	}
	if m.live {
		(*at).Counts[i].Live += n
	} else {
		(*at).Counts[i].Deleted += n
	}
}
