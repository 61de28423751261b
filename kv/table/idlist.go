package table

import (
	"slices"

	"doorward/kv/record"
)

// chunkSize is how many ids a chunk holds before it is split.
const chunkSize = 1024

// IdList is a sorted sequence of ids in chunks. A published list never changes: edits go to a copy that shares the chunks
// which stay as they are.
type IdList struct {
	chunks []*chunk
	n      int
	edit   uint64 // the edit that owns this list's chunk table
}

type chunk struct {
	ids  []record.ID
	edit uint64 // the edit that made this chunk and may still change it
}

func (l *IdList) Len() int {
	if l == nil {
		return 0
	}
	return l.n
}

// locate finds the chunk that holds id or would hold it, and the place in it.
func (l *IdList) locate(id record.ID) (c, i int, found bool) {
	c, _ = slices.BinarySearchFunc(l.chunks, id, func(ch *chunk, id record.ID) int {
		return ch.ids[len(ch.ids)-1].Compare(id)
	})
	if c == len(l.chunks) {
		return c, 0, false
	}
	i, found = slices.BinarySearchFunc(l.chunks[c].ids, id, record.ID.Compare)
	return c, i, found
}

func (l *IdList) Contains(id record.ID) bool {
	if l == nil {
		return false
	}
	_, _, found := l.locate(id)
	return found
}

// Rank is how many ids lie before id.
func (l *IdList) Rank(id record.ID) int {
	if l == nil {
		return 0
	}
	c, i, _ := l.locate(id)
	for _, ch := range l.chunks[:c] {
		i += len(ch.ids)
	}
	return i
}

// Page appends up to limit ids from the place offset on.
func (l *IdList) Page(dst []record.ID, offset, limit int) []record.ID {
	if l == nil {
		return dst
	}
	for _, ch := range l.chunks {
		if limit <= 0 {
			break
		}
		if offset >= len(ch.ids) {
			offset -= len(ch.ids)
			continue
		}
		part := ch.ids[offset:min(offset+limit, len(ch.ids))]
		dst = append(dst, part...)
		limit -= len(part)
		offset = 0
	}
	return dst
}

// Own answers a list that this edit may change.
func (l *IdList) Own(edit uint64) *IdList {
	switch {
	case l == nil:
		return &IdList{edit: edit}
	case l.edit == edit:
		return l
	}
	return &IdList{chunks: slices.Clone(l.chunks), n: l.n, edit: edit}
}

// ownChunk makes a chunk changeable by this edit.
func (l *IdList) ownChunk(c int) *chunk {
	ch := l.chunks[c]
	if ch.edit != l.edit {
		ch = &chunk{ids: append(make([]record.ID, 0, len(ch.ids)+8), ch.ids...), edit: l.edit}
		l.chunks[c] = ch
	}
	return ch
}

// Insert adds an id to an owned list.
func (l *IdList) Insert(id record.ID) {
	c, i, found := l.locate(id)
	if found {
		return
	}
	l.n++
	if c == len(l.chunks) {
		if c == 0 || len(l.chunks[c-1].ids) == chunkSize {
			l.chunks = append(l.chunks, &chunk{ids: []record.ID{id}, edit: l.edit})
			return
		}
		c--
		i = len(l.chunks[c].ids)
	}
	if len(l.chunks[c].ids) == chunkSize {
		l.split(c)
		if i > chunkSize/2 {
			c, i = c+1, i-chunkSize/2
		}
	}
	ch := l.ownChunk(c)
	ch.ids = slices.Insert(ch.ids, i, id)
}

// split makes two half-full chunks of a full one.
func (l *IdList) split(c int) {
	full := l.chunks[c].ids
	left := &chunk{ids: slices.Clone(full[:chunkSize/2]), edit: l.edit}
	right := &chunk{ids: slices.Clone(full[chunkSize/2:]), edit: l.edit}
	l.chunks[c] = left
	l.chunks = slices.Insert(l.chunks, c+1, right)
}

// Remove takes an id out of an owned list.
func (l *IdList) Remove(id record.ID) {
	c, i, found := l.locate(id)
	if !found {
		return
	}
	l.n--
	ch := l.ownChunk(c)
	if ch.ids = slices.Delete(ch.ids, i, i+1); len(ch.ids) == 0 {
		l.chunks = slices.Delete(l.chunks, c, c+1)
	}
}

// At is the id at a place, which must be there.
func (l *IdList) At(i int) record.ID {
	for _, ch := range l.chunks {
		if i < len(ch.ids) {
			return ch.ids[i]
		}
		i -= len(ch.ids)
	}
	return record.ID{}
}

// Push adds an id that is larger than all others to an owned list.
func (l *IdList) Push(id record.ID) {
	last := len(l.chunks) - 1
	if last < 0 || len(l.chunks[last].ids) == chunkSize {
		l.chunks = append(l.chunks, &chunk{edit: l.edit})
		last++
	}
	l.chunks[last].ids = append(l.chunks[last].ids, id)
	l.n++
}
