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

// ParseRanked takes what was typed apart into Words; what has no letters counts by its digits, side by side as one number.
// A particle is a word like others, and a single digit a number, where nothing else was typed.
func ParseRanked(q string) *Ranked {
	r := &Ranked{}
	var number []byte
	var particles, single []string
	end := func() {
		switch len(number) {
		case 0:
		case 1:
			single = append(single, string(number))
		default:
			r.digits = append(r.digits, string(number))
		}
		number = nil
	}
	for _, part := range strings.FieldsFunc(Fold(q), func(c rune) bool { return c == ',' || c == '"' || unicode.IsSpace(c) }) {
		if !strings.ContainsFunc(part, unicode.IsLetter) {
			number = appendDigits(number, []byte(part))
			continue
		}
		end()
		for _, word := range strings.FieldsFunc(part, between) {
			if isParticle(word) {
				particles = append(particles, word)
			} else {
				r.words = append(r.words, word)
			}
		}
	}
	end()
	if r.Empty() {
		r.words, r.digits = particles, single
	}
	return r
}

// Empty tells a search for nothing.
func (r *Ranked) Empty() bool { return len(r.words)+len(r.digits) == 0 }

// Words are the words that a name must have, folded.
func (r *Ranked) Words() []string { return r.words }

// Digits are what a phone must end with, or a number be.
func (r *Ranked) Digits() []string { return r.digits }
