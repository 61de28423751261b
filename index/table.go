package index

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"doorward/kv/record"
)

// table is what a segment's documents are: looking each one up in the segment itself takes longer than finding it.
type table struct {
	ids  []record.ID // ascending
	rank []uint32    // by document: where its id stands in ids
}

// tables are the tables of the segments that an engine has, by the segments' numbers. A segment's documents never change.
type tables struct {
	mu sync.Mutex
	of map[uint64]*table
}

// table is the table of a segment.
func (ts *tables) table(p *part) (*table, error) {
	ts.mu.Lock()
	t := ts.of[p.Id()]
	ts.mu.Unlock()
	if t != nil && len(t.ids) == int(p.Segment().Count()) {
		return t, nil
	}
	t, err := newTable(p)
	if err != nil {
		return nil, err
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.of == nil {
		ts.of = map[uint64]*table{}
	}
	ts.of[p.Id()] = t
	return t, nil
}

// warm makes the tables of a snapshot's segments before a search needs them, and forgets all others.
func (e *engine) warm() error {
	snap, err := e.snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	segments := parts(snap)
	for _, p := range segments {
		if _, err := e.tables.table(p); err != nil {
			return err
		}
	}
	e.tables.keep(segments)
	return nil
}

// keep forgets the tables of all other segments.
func (ts *tables) keep(segments []*part) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for id := range ts.of {
		if !slices.ContainsFunc(segments, func(p *part) bool { return p.Id() == id }) {
			delete(ts.of, id)
		}
	}
}

func newTable(p *part) (*table, error) {
	n := int(p.Segment().Count())
	type row struct {
		id  record.ID
		doc uint32
	}
	rows := make([]row, n)
	for doc := range n {
		key, err := p.DocID(uint64(doc))
		if err != nil {
			return nil, err
		}
		_, id, _ := parseID(key)
		rows[doc] = row{id, uint32(doc)}
	}
	slices.SortFunc(rows, func(a, b row) int { return a.id.Compare(b.id) })
	t := &table{make([]record.ID, n), make([]uint32, n)}
	for i, r := range rows {
		t.ids[i], t.rank[r.doc] = r.id, uint32(i)
	}
	return t, nil
}

// appendIDs appends the ids of documents of one kind, ascending.
func (t *table) appendIDs(dst []record.ID, docs *roaring.Bitmap) []record.ID {
	dst = slices.Grow(dst, int(docs.GetCardinality()))
	found := make([]uint64, (len(t.ids)+63)/64)
	for some := docs.Iterator(); some.HasNext(); {
		i := t.rank[some.Next()]
		found[i/64] |= 1 << (i % 64)
	}
	for w, word := range found {
		for ; word != 0; word &= word - 1 {
			dst = append(dst, t.ids[w*64+bits.TrailingZeros64(word)])
		}
	}
	return dst
}
