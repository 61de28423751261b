package index

import (
	"math"
	"slices"

	"doorward/kv/desk"
	"doorward/kv/record"
	"doorward/kv/search"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/vellum/levenshtein"
	lru "github.com/hashicorp/golang-lru/v2"
)

// finding is one question put to one snapshot.
type finding struct {
	desk.Wanted
	edits  *edits
	tables *tables
	parts  []*part
	nears  map[nearness]*levenshtein.DFA // nil = too long a word for an automaton
}

// nearness is what an automaton accepts: what is so many edits away from a word.
type nearness struct {
	word     string
	distance int
}

// find answers a question, and up to which sequence of the log the answer has looked.
func (f *follower) find(w desk.Wanted, by *edits) (desk.Found, error) {
	snap, err := f.engine.snapshot()
	if err != nil {
		return desk.Found{}, err
	}
	defer snap.Close()
	upto, err := f.engine.upto(snap)
	if err != nil {
		return desk.Found{}, err
	}
	q := &finding{Wanted: w, edits: by, tables: &f.engine.tables, parts: parts(snap), nears: map[nearness]*levenshtein.DFA{}}
	late := max(f.store.Tables.Commits.Seq(), upto) - upto
	if late > f.bulk {
		f.asked.Store(true)
	}
	q.Limit = min(q.Limit, math.MaxInt32) + int(late) // as many candidates may not be what they were
	var ids []record.ID
	if w.Ranked != nil {
		ids, err = q.ranked()
	} else {
		ids, err = q.exact()
	}
	return desk.Found{IDs: ids, Upto: upto}, err
}

// upto is how far in the log a snapshot has looked.
func (e *engine) upto(snap *scorch.IndexSnapshot) (uint64, error) {
	c, err := readCursor(snap)
	if s := e.skipped.Load(); err == nil && s != nil && s.from == c.seq {
		return s.upto, nil
	}
	return c.seq, err
}

// exact answers a search: every term, in any field.
func (f *finding) exact() ([]record.ID, error) {
	return f.collect(func(i int) (*roaring.Bitmap, error) {
		p := f.parts[i]
		all, err := f.scope(p)
		if err != nil || f.Search == nil {
			return all, err
		}
		sets := []*roaring.Bitmap{all}
		for _, term := range f.Search.Parts() {
			more, err := f.term(p, term)
			if err != nil {
				return nil, err
			}
			if i := slices.IndexFunc(more, (*roaring.Bitmap).IsEmpty); i >= 0 {
				return more[i], nil
			}
			sets = append(sets, more...)
		}
		return shared(sets), nil
	})
}

// term are sets of documents: one that a term of a search matches is in each of them.
func (f *finding) term(p *part, t search.Part) ([]*roaring.Bitmap, error) {
	switch {
	case t.Text == "" && t.Digits == "":
		return []*roaring.Bitmap{new(roaring.Bitmap)}, nil
	case t.Text == "":
		return p.grams(digitField, t.Digits)
	case !t.Forgiving:
		return p.grams(gramField, t.Text)
	}
	exact, err := p.containing(gramField, t.Text)
	if err != nil {
		return nil, err
	}
	near, err := f.near(p, wordField, t.Text, 1, true)
	if err != nil {
		return nil, err
	}
	written, err := f.near(p, writtenField, t.Text, 1, true)
	if err != nil {
		return nil, err
	}
	return []*roaring.Bitmap{or(roaring.Or(exact, near), written)}, nil
}

// longestWord is what an automaton is made for, in bytes: it takes memory for each of them.
const longestWord = 64

// near are the documents with a name's word, of one field of them, so many edits away from another, or with one that begins so.
func (f *finding) near(p *part, field, word string, distance int, beginnings bool) (*roaring.Bitmap, error) {
	if len(word) > longestWord {
		return p.everything(), nil
	}
	switch dfa := f.automaton(nearness{word, distance}); {
	case dfa == nil:
		return p.everything(), nil // the store decides alone
	case beginnings:
		return p.accepting(field, begun{dfa}, nil, nil)
	default:
		return p.accepting(field, dfa, nil, nil)
	}
}

// automaton makes each automaton once for all segments.
func (f *finding) automaton(n nearness) *levenshtein.DFA {
	dfa, known := f.nears[n]
	if !known {
		dfa = f.edits.automaton(n)
		f.nears[n] = dfa
	}
	return dfa
}

// scope are the documents that may be answered: of the kind, and of the homes that were asked for.
func (f *finding) scope(p *part) (*roaring.Bitmap, error) {
	all := new(roaring.Bitmap)
	terms := []string{kindTerm(f.Kind)}
	if !f.All {
		terms = terms[:0]
		for _, home := range f.Homes {
			terms = append(terms, homeTerm(f.Kind, home))
		}
	}
	for _, term := range terms {
		set, err := p.having(homeField, term)
		if err != nil {
			return nil, err
		}
		all.Or(set)
	}
	if gone := p.Deleted(); gone != nil {
		all.AndNot(gone)
	}
	return all, nil
}

// collect gathers what is found in each segment, as ids.
func (f *finding) collect(in func(part int) (*roaring.Bitmap, error)) (ids []record.ID, err error) {
	for i, p := range f.parts {
		docs, err := in(i)
		if err != nil {
			return nil, err
		}
		if docs.IsEmpty() {
			continue
		}
		t, err := f.tables.table(p)
		if err != nil {
			return nil, err
		}
		ids = merged(ids, t.appendIDs(nil, docs))
	}
	return ids, nil
}

// merged is two ascending lists as one.
func merged(a, b []record.ID) []record.ID {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	out := make([]record.ID, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].Compare(b[0]) <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// keptAutomata is how many automata are kept. One of a usual word takes less than 100 KB.
const keptAutomata = 64

// edits makes the automata of words that are up to so many edits away from one; two neighbours swapped are one edit. It keeps those of
// one edit that were asked for last: while a name is typed, each letter asks for its first words again.
type edits struct {
	one, two *levenshtein.LevenshteinAutomatonBuilder
	kept     *lru.Cache[string, *levenshtein.DFA]
}

func newEdits() (*edits, error) {
	one, err := levenshtein.NewLevenshteinAutomatonBuilder(1, true)
	if err != nil {
		return nil, err
	}
	two, err := levenshtein.NewLevenshteinAutomatonBuilder(2, true)
	if err != nil {
		return nil, err
	}
	kept, err := lru.New[string, *levenshtein.DFA](keptAutomata)
	return &edits{one, two, kept}, err
}

// automaton accepts what is so many edits away from a word; nil for a word that is too long for an automaton.
func (e *edits) automaton(n nearness) *levenshtein.DFA {
	if n.distance > 1 {
		dfa, _ := e.two.BuildDfa(n.word, 2) // nil with an error
		return dfa
	}
	if dfa, ok := e.kept.Get(n.word); ok {
		return dfa
	}
	dfa, err := e.one.BuildDfa(n.word, 1)
	if err == nil {
		e.kept.Add(n.word, dfa)
	}
	return dfa
}

// begun accepts every word that begins with one that the automaton within accepts.
type begun struct{ segment.Automaton }

// accepted is the state behind every beginning that is accepted.
const accepted = -1

func (b begun) IsMatch(state int) bool  { return state == accepted || b.Automaton.IsMatch(state) }
func (b begun) CanMatch(state int) bool { return state == accepted || b.Automaton.CanMatch(state) }
func (b begun) WillAlwaysMatch(state int) bool {
	return state == accepted || b.Automaton.IsMatch(state)
}
func (b begun) Accept(state int, c byte) int {
	if state == accepted || b.Automaton.IsMatch(state) {
		return accepted
	}
	return b.Automaton.Accept(state, c)
}
