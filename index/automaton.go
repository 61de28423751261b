package index

import (
	segment "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/vellum/levenshtein"
	lru "github.com/hashicorp/golang-lru/v2"
)

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

// automaton accepts what is so many edits away from a word.
func (e *edits) automaton(n nearness) (*levenshtein.DFA, error) {
	if n.distance > 1 {
		return e.two.BuildDfa(n.word, 2)
	}
	if dfa, ok := e.kept.Get(n.word); ok {
		return dfa, nil
	}
	dfa, err := e.one.BuildDfa(n.word, 1)
	if err == nil {
		e.kept.Add(n.word, dfa)
	}
	return dfa, err
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
