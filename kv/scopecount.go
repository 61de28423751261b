package kv

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
	counts []scopeCount
}

type scopeCount struct {
	scope         scopes.Scope
	live, deleted int
}

// scopeMark is what a record counts as; the zero scopeMark does not count.
type scopeMark struct {
	scopes        [2]scopes.Scope
	live, deleted bool
	opaque        bool // none of all records
}

func (h *header) mark() scopeMark {
	return scopeMark{scopes: h.scopes, live: !h.deleted, deleted: h.deleted}
}

func compareScopes(a, b scopes.Scope) int {
	if a.Sort != b.Sort {
		return cmp.Compare(a.Sort, b.Sort)
	}
	return cmp.Compare(a.ID, b.ID)
}

func chunkOf(s scopes.Scope) int { return int((uint64(s.ID)*7 + uint64(s.Sort)) % countChunks) }

func (c *countChunk) place(s scopes.Scope) (int, bool) {
	return slices.BinarySearchFunc(c.counts, s, func(c scopeCount, s scopes.Scope) int { return compareScopes(c.scope, s) })
}

// of is the count of one scope.
func (c *scopeCounts) of(s scopes.Scope) scopeCount {
	if chunk := c[chunkOf(s)]; chunk != nil {
		if i, ok := chunk.place(s); ok {
			return chunk.counts[i]
		}
	}
	return scopeCount{scope: s}
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
		*at = &countChunk{edit: edit, counts: slices.Clone((*at).counts)}
	}
	i, ok := (*at).place(s)
	if !ok {
		(*at).counts = slices.Insert((*at).counts, i, scopeCount{scope: s})
	}
	if m.live {
		(*at).counts[i].live += n
	} else {
		(*at).counts[i].deleted += n
	}
}
