package record

import (
	"strings"
	"unicode"
)

// Ranked is a search for people who type: the words of a name in any order, whole, begun or mistyped, and the last digits of
// a phone. Every word counts, but for particles.
type Ranked struct {
	words  []string
	digits []string
}

// ParseRanked splits what was typed on spaces and commas. A particle is a word like others where nothing else was typed.
func ParseRanked(q string) *Ranked {
	r := &Ranked{}
	var particles []string
	for _, word := range strings.FieldsFunc(Fold(q), func(c rune) bool { return c == ',' || c == '"' || unicode.IsSpace(c) }) {
		switch {
		case isParticle(word):
			particles = append(particles, word)
		case strings.ContainsFunc(word, unicode.IsLetter):
			r.words = append(r.words, word)
		default:
			if digits := appendDigits(nil, []byte(word)); len(digits) > 0 {
				r.digits = append(r.digits, string(digits))
			}
		}
	}
	if len(r.words)+len(r.digits) == 0 {
		r.words = particles
	}
	return r
}

// Empty tells a search for nothing.
func (r *Ranked) Empty() bool { return len(r.words)+len(r.digits) == 0 }

// Words are the words that a name must have, folded.
func (r *Ranked) Words() []string { return r.words }

// Digits are what a phone must end with.
func (r *Ranked) Digits() []string { return r.digits }
