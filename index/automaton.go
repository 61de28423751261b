package index

import (
	segment "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/vellum/levenshtein"
)

// edits makes the automata of words that are up to so many edits away from one; two neighbours swapped are one edit.
type edits struct {
	one, two *levenshtein.LevenshteinAutomatonBuilder
}

func newEdits() (*edits, error) {
	one, err := levenshtein.NewLevenshteinAutomatonBuilder(1, true)
	if err != nil {
		return nil, err
	}
	two, err := levenshtein.NewLevenshteinAutomatonBuilder(2, true)
	return &edits{one, two}, err
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
