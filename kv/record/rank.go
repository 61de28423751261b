package record

import (
	"math/bits"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// Ranked is a search for people who type: the words of a name in any order, whole, begun or mistyped, and the last digits of
// a phone or a number on its own. Every word counts, but for particles, and each word of a name answers one that was typed.
type Ranked struct {
	words  []string
	typed  []typed // of words
	digits []string
}

// typed is a word as it is compared.
type typed struct {
	runes    []rune
	forgiven Forgiven
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
	for _, word := range r.words {
		r.typed = append(r.typed, typed{[]rune(word), ForgivenIn(word)})
	}
	return r
}

// Empty tells a search for nothing, which finds nobody.
func (r *Ranked) Empty() bool { return len(r.words)+len(r.digits) == 0 }

// Words are the words that a name must have, folded.
func (r *Ranked) Words() []string { return r.words }

// Digits are what a phone must end with, or a number or a word of the name be. Of WholePhone digits and more a phone may also be
// just the last ones, TailDigits at least.
func (r *Ranked) Digits() []string { return r.digits }

// How many digits a typed phone has at least that is taken for a whole one, and how many of them a stored one must have then.
const (
	WholePhone = 8
	TailDigits = 4
)

// An answer's cost counts, from the most important: words that are two edits away, those one edit away, beginnings, whether
// the name's first word answers the first that was typed, and particles that answer one. Each has room for maxTyped.
const (
	costParticle = 1
	costNotFirst = 1 << 5
	costBegun    = 1 << 6
	costOneEdit  = 1 << 11
	costTwoEdits = 1 << 16
)

// Forgiven are the edits that are forgiven in a typed word: one in a whole word, one in its beginning, two in a whole word.
type Forgiven struct{ One, Begun, Two bool }

// ForgivenIn is the rule, by how many letters a word has.
func ForgivenIn(word string) Forgiven {
	n := lettersIn([]byte(word))
	return Forgiven{One: n >= 3, Begun: n >= 4, Two: n >= 8}
}

// Cost tells whether a record of kind k is found, and how well, less being better: all words whole, then begun, then with one
// edit, then with two, fewer first; of equals those whose first word answers the first that was typed, then those with fewer
// words besides. Two of one cost stand in the order of their ids.
func (r *Ranked) Cost(k *Kind, b Body) (cost int, ok bool) {
	if r.Empty() || len(r.words)+len(r.digits) > maxTyped {
		return 0, false
	}
	var stack [256]rune
	var ends [MaxWords]int
	name := words{stack[:0], ends[:0]}
	at := 0
	for _, i := range k.searched {
		f := &k.Fields[i]
		if !f.IsName() {
			continue
		}
		var v jsontext.Value
		if v, at = b.next(f.Name, at); !isNull(v) {
			var text [256]byte
			name = appendWords(name, appendFold(text[:0], content(v)))
		}
	}
	sum, more, ok := r.match(&name)
	if !ok {
		return 0, false
	}
	said, n := r.said(&name)
	tails, ok := r.tails(k, b, at, said)
	if !ok {
		return 0, false
	}
	return (sum/costNotFirst*64+min(max(more-n, 0), 63))*32 + min(tails, 31), true
}

// said has a bit for each typed number that is a word of the name, and tells how many of its words are.
func (r *Ranked) said(name *words) (numbers uint64, n int) {
	if len(r.digits) == 0 {
		return 0, 0
	}
	for j := range name.ends {
		is := false
		for i, digits := range r.digits {
			if spells(name.word(j), digits) {
				numbers |= 1 << i
				is = true
			}
		}
		if is {
			n++
		}
	}
	return numbers, n
}

// spells tells whether a word is some digits.
func spells(word []rune, digits string) bool {
	if len(word) != len(digits) {
		return false
	}
	for i, r := range word {
		if r != rune(digits[i]) {
			return false
		}
	}
	return true
}

// match gives each typed word a word of the name: what that costs, and how many words are left, particles not counted.
func (r *Ranked) match(name *words) (sum, more int, ok bool) {
	n, m := len(r.typed), len(name.ends)
	if n == 0 || n > m {
		return 0, 0, n == 0
	}
	var c costs
	for i := range r.typed {
		found := false
		for j := range m {
			word := name.word(j)
			c[i][j] = r.typed[i].cost(word)
			if c[i][j] == unmatched {
				continue
			}
			found = true
			if i == 0 && j > 0 {
				c[i][j] += costNotFirst
			}
			if particle(word) {
				c[i][j] += costParticle
			}
		}
		if !found {
			return 0, 0, false
		}
	}
	sum, ok = c.least(n, m)
	for j := range m {
		if !particle(name.word(j)) {
			more++
		}
	}
	return sum, more - (n - sum%costNotFirst), ok
}

// cost is how far a word of a name is from what was typed.
func (t *typed) cost(word []rune) int {
	switch {
	case near(t.runes, word, 0, true):
		if len(t.runes) == len(word) {
			return 0
		}
		return costBegun
	case t.forgiven.One && near(t.runes, word, 1, false):
		return costOneEdit
	case t.forgiven.Begun && near(t.runes, word, 1, true):
		return costOneEdit + costBegun
	case t.forgiven.Two && near(t.runes, word, 2, false):
		return costTwoEdits
	}
	return unmatched
}

// tails tells whether each number that was typed is a word of the name, as said tells, the end of a phone, or the whole of a
// number, looking from the member at b's shown run on; n of them are but an end. A single digit is no end and no number.
func (r *Ranked) tails(k *Kind, b Body, at int, said uint64) (n int, ok bool) {
	if len(r.digits) == 0 {
		return 0, true
	}
	ends, whole := uint64(0), said // a bit for each number
	for _, i := range k.searched {
		f := &k.Fields[i]
		if isSpoken(f.Type) {
			continue
		}
		var v jsontext.Value
		v, at = b.next(f.Name, at)
		var stack [64]byte
		have := appendDigits(stack[:0], v)
		_, phone := f.Type.(Phone)
		for i, digits := range r.digits {
			switch {
			case len(digits) < 2:
			case string(have) == digits:
				whole |= 1 << i
			case phone && isEnd(have, digits):
				ends |= 1 << i
			}
		}
	}
	return bits.OnesCount64(ends &^ whole), ends|whole == 1<<len(r.digits)-1
}

// isEnd tells whether a phone ends with what was typed, or is, as a door has it, the end of a whole phone that was typed.
func isEnd(phone []byte, typed string) bool {
	if n := len(typed) - len(phone); n > 0 {
		return len(typed) >= WholePhone && len(phone) >= TailDigits && typed[n:] == string(phone)
	}
	return string(phone[len(phone)-len(typed):]) == typed
}
