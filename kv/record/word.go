package record

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words are the words of a name as ranked and fuzzy searches compare them, folded: what stands between spaces and
// punctuation, apostrophes not counted as such.
func Words(text string) []string { return strings.FieldsFunc(Fold(text), between) }

// isWord tells whether a folded text is one word.
func isWord(folded []byte) bool {
	return len(folded) > 0 && bytes.IndexFunc(folded, between) < 0
}

// between tells what stands between words.
func between(r rune) bool {
	if r < utf8.RuneSelf {
		letter := 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '\''
		return !letter
	}
	return r != '’' && !unicode.In(r, unicode.Letter, unicode.Number, unicode.Mark)
}

// IsName tells the fields whose words searches forgive edits in.
func (f *Field) IsName() bool {
	_, text := f.Type.(Text)
	return text && f.Flags.Has(Searched)
}

// words are the words of names: their letters one after the other, and where each ends.
type words struct {
	letters []rune
	ends    []int // as many as there is room for
}

// word is the word at a place.
func (w *words) word(i int) []rune {
	if i == 0 {
		return w.letters[:w.ends[0]]
	}
	return w.letters[w.ends[i-1]:w.ends[i]]
}

// appendWords appends the words of a folded text.
func appendWords(w words, folded []byte) words {
	start := len(w.letters)
	for _, r := range string(folded) {
		switch {
		case !between(r):
			w.letters = append(w.letters, r)
		case start < len(w.letters):
			w.ends = w.end()
			start = len(w.letters)
		}
	}
	if start < len(w.letters) {
		w.ends = w.end()
	}
	return w
}

// end ends a word, if there is room for one more.
func (w *words) end() []int {
	if len(w.ends) < cap(w.ends) {
		return append(w.ends, len(w.letters))
	}
	return w.ends
}

// Particle tells a word that ranked searches do not count, as da and dos; folded.
func Particle(word string) bool { return isParticle(word) }

// particle tells a particle in a folded name.
func particle(word []rune) bool {
	return len(word) <= 3 && isParticle(string(word))
}
