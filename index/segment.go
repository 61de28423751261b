package index

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"doorward/kv/record"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// part is one segment of a snapshot, asked for sets of its documents. The sets may lie in the segment's own memory: they are
// not written to, and not kept beyond the snapshot.
type part struct {
	*scorch.SegmentSnapshot
	dicts map[string]segment.TermDictionary
}

// parts are a snapshot's segments.
func parts(snap *scorch.IndexSnapshot) []*part {
	segments := snap.Segments()
	out := make([]*part, len(segments))
	for i, s := range segments {
		out[i] = &part{s, make(map[string]segment.TermDictionary, 3)}
	}
	return out
}

func (p *part) dictionary(field string) (segment.TermDictionary, error) {
	if d, ok := p.dicts[field]; ok {
		return d, nil
	}
	d, err := p.Segment().Dictionary(field)
	if err != nil {
		return nil, err
	}
	p.dicts[field] = d
	return d, nil
}

// having are the documents with a term.
func (p *part) having(field, term string) (*roaring.Bitmap, error) {
	d, err := p.dictionary(field)
	if err != nil {
		return nil, err
	}
	return postings(d, term)
}

// postings are the documents of a term, deleted ones among them.
func postings(d segment.TermDictionary, term string) (*roaring.Bitmap, error) {
	list, err := d.PostingsList([]byte(term), nil, nil)
	if err != nil {
		return nil, err
	}
	found, ok := list.Iterator(false, false, false, nil).(segment.OptimizablePostingsIterator)
	if !ok {
		return nil, errBroken
	}
	if n, one := found.DocNum1Hit(); one {
		return roaring.BitmapOf(uint32(n)), nil
	}
	if set := found.ActualBitmap(); set != nil {
		return set, nil
	}
	return new(roaring.Bitmap), nil
}

// accepting are the documents with a term that an automaton accepts, nil = all, from one term up to another, not included.
func (p *part) accepting(field string, a segment.Automaton, from, to []byte) (*roaring.Bitmap, error) {
	d, err := p.dictionary(field)
	if err != nil {
		return nil, err
	}
	all := new(roaring.Bitmap)
	terms := termsOf(d, a, from, to)
	for {
		entry, err := terms.Next()
		if err != nil || entry == nil {
			return all, err
		}
		set, err := postings(d, entry.Term)
		if err != nil {
			return nil, err
		}
		all.Or(set)
	}
}

// counting is what dictionaries can besides: naming terms without looking how many documents have them.
type counting interface {
	AutomatonIteratorOmitCount(a segment.Automaton, from, to []byte) segment.DictionaryIterator
}

func termsOf(d segment.TermDictionary, a segment.Automaton, from, to []byte) segment.DictionaryIterator {
	if c, ok := d.(counting); ok {
		return c.AutomatonIteratorOmitCount(a, from, to)
	}
	return d.AutomatonIterator(a, from, to)
}

// beginning are the documents with a term that begins with some bytes.
func (p *part) beginning(field, with string) (*roaring.Bitmap, error) {
	return p.accepting(field, nil, []byte(with), after(with))
}

// after is the first string behind all that begin with some bytes; nil where there is none.
func after(prefix string) []byte {
	next := []byte(prefix)
	for len(next) > 0 && next[len(next)-1] == 0xff {
		next = next[:len(next)-1]
	}
	if len(next) == 0 {
		return nil
	}
	next[len(next)-1]++
	return next
}

// containing are at least the documents with a text that contains another.
func (p *part) containing(field, text string) (*roaring.Bitmap, error) {
	sets, err := p.grams(field, text)
	if err != nil {
		return nil, err
	}
	return shared(sets), nil
}

// grams are sets of documents: one with a text that contains another is in each of them.
func (p *part) grams(field, text string) (sets []*roaring.Bitmap, err error) {
	if len(text) < gram {
		set, err := p.beginning(field, text)
		return []*roaring.Bitmap{set}, err
	}
	for i := 0; i+gram <= len(text); i++ {
		set, err := p.having(field, text[i:i+gram])
		if err != nil {
			return nil, err
		}
		if sets = append(sets, set); set.IsEmpty() {
			break
		}
	}
	return sets, nil
}

// shared is what all sets have. It begins with the smallest ones: what they share is small, and each step takes as long as that is large.
func shared(sets []*roaring.Bitmap) *roaring.Bitmap {
	slices.SortFunc(sets, func(a, b *roaring.Bitmap) int { return cmp.Compare(a.GetCardinality(), b.GetCardinality()) })
	if len(sets) == 1 {
		return sets[0]
	}
	all := roaring.And(sets[0], sets[1])
	for _, set := range sets[2:] {
		all.And(set)
	}
	return all
}

// everything are all documents of a segment.
func (p *part) everything() *roaring.Bitmap {
	all := new(roaring.Bitmap)
	all.AddRange(0, p.Segment().Count())
	return all
}

// docTable is what a segment's documents are: looking each one up in the segment itself takes longer than finding it.
type docTable struct {
	ids  []record.ID // ascending
	rank []uint32    // by document: where its id stands in ids
}

// tables are the tables of the segments that an engine has, by the segments' numbers. A segment's documents never change.
type tables struct {
	mu sync.Mutex
	of map[uint64]*docTable
}

// table is the table of a segment.
func (ts *tables) table(p *part) (*docTable, error) {
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
		ts.of = map[uint64]*docTable{}
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

func newTable(p *part) (*docTable, error) {
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
	t := &docTable{make([]record.ID, n), make([]uint32, n)}
	for i, r := range rows {
		t.ids[i], t.rank[r.doc] = r.id, uint32(i)
	}
	return t, nil
}

// appendIDs appends the ids of documents of one kind, ascending.
func (t *docTable) appendIDs(dst []record.ID, docs *roaring.Bitmap) []record.ID {
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
