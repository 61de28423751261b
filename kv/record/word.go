package record

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words are the words of a name as ranked searches compare them, folded: what stands between spaces and punctuation, without
// apostrophes, an abbreviation as the word that it is short for.
func Words(text string) (out []string) {
	each := appendNames(words{nil, make([]int, 0, len(text))}, []byte(text))
	for i := range each.ends {
		out = append(out, string(each.word(i)))
	}
	return out
}

// WrittenWords are the words of a name as fuzzy searches compare them, folded: as it is written, apostrophes kept.
func WrittenWords(text string) []string { return strings.FieldsFunc(Fold(text), between) }

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
	return !unicode.In(r, unicode.Letter, unicode.Number, unicode.Mark)
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

// appendNames appends the words of a name as Words has them.
func appendNames(w words, name []byte) words {
	var folded [256]byte
	start := len(w.letters)
	for _, r := range string(appendFold(folded[:0], written(name))) {
		switch {
		case 'a' <= r && r <= 'z', r != '\'' && !between(r):
			w.letters = append(w.letters, r)
		case r != '\'' && start < len(w.letters):
			w.letters = inFull(w.letters, start)
			w.ends = w.end()
			start = len(w.letters)
		}
	}
	if start < len(w.letters) {
		w.letters = inFull(w.letters, start)
		w.ends = w.end()
	}
	return w
}

// appendWords appends the words of a folded text as WrittenWords has them.
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

// abbreviations are folded words that names have for others.
var abbreviations = [...]struct{ short, full string }{{"sta", "santa"}, {"sto", "santo"}, {"jr", "junior"}}

// longestShort is how many letters an abbreviation has at most.
const longestShort = 3

// shortFor is the word that a folded one is the abbreviation of; "" where it is none.
func shortFor(word []rune) string {
	if len(word) > longestShort {
		return ""
	}
	for i := range abbreviations {
		if spells(word, abbreviations[i].short) {
			return abbreviations[i].full
		}
	}
	return ""
}

// inFull puts the word that an abbreviation, which begins at start and ends the letters, is short for in its place.
func inFull(letters []rune, start int) []rune {
	if full := shortFor(letters[start:]); full != "" {
		return append(letters[:start], []rune(full)...)
	}
	return letters
}

// ordinalMaria is Mª, the abbreviation of Maria, which folding would make ma.
var ordinalMaria = regexp.MustCompile(`(?i)\bm\.?ª`)

// written is a name with Maria for Mª.
func written(name []byte) []byte {
	if !bytes.Contains(name, []byte("ª")) {
		return name
	}
	return ordinalMaria.ReplaceAll(name, []byte("Maria "))
}

// particle tells a particle in a folded name.
func particle(word []rune) bool {
	return len(word) <= 3 && IsParticle(string(word))
}
