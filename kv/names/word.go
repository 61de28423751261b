package names

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words are the words of a name as ranked searches compare them, folded: what stands between spaces and punctuation, without
// apostrophes, an abbreviation as the word that it is short for.
func Words(text string) (out []string) {
	each := AppendWords(List{nil, make([]int, 0, len(text))}, []byte(text))
	for i := range each.Ends {
		out = append(out, string(each.Word(i)))
	}
	return out
}

// WrittenWords are the words of a name as fuzzy searches compare them, folded: as it is written, apostrophes kept.
func WrittenWords(text string) []string { return strings.FieldsFunc(Fold(text), IsBetween) }

// IsWord reports whether a folded text is one word.
func IsWord(folded []byte) bool {
	return len(folded) > 0 && bytes.IndexFunc(folded, IsBetween) < 0
}

// IsBetween tells what stands between words.
func IsBetween(r rune) bool {
	if r < utf8.RuneSelf {
		letter := 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '\''
		return !letter
	}
	return !unicode.In(r, unicode.Letter, unicode.Number, unicode.Mark)
}

// List are the words of names: their letters one after the other, and where each ends.
type List struct {
	Letters []rune
	Ends    []int // as many as there is room for
}

// Word is the word at a place.
func (w *List) Word(i int) []rune {
	if i == 0 {
		return w.Letters[:w.Ends[0]]
	}
	return w.Letters[w.Ends[i-1]:w.Ends[i]]
}

// AppendWords appends the words of a name as Words has them.
func AppendWords(w List, name []byte) List {
	var folded [256]byte
	start := len(w.Letters)
	for _, r := range string(AppendFold(folded[:0], Written(name))) {
		switch {
		case 'a' <= r && r <= 'z', r != '\'' && !IsBetween(r):
			w.Letters = append(w.Letters, r)
		case r != '\'':
			w.Letters = inFull(w.Letters, start)
			w, start = endWord(w, start)
		}
	}
	w.Letters = inFull(w.Letters, start)
	w, _ = endWord(w, start)
	return w
}

// AppendWritten appends the words of a folded text as WrittenWords has them.
func AppendWritten(w List, folded []byte) List {
	start := len(w.Letters)
	for _, r := range string(folded) {
		if IsBetween(r) {
			w, start = endWord(w, start)
		} else {
			w.Letters = append(w.Letters, r)
		}
	}
	w, _ = endWord(w, start)
	return w
}

// endWord ends the word that has begun at start, if it has a letter and there is room for one more. next is where the next one begins.
func endWord(w List, start int) (_ List, next int) {
	if start < len(w.Letters) && len(w.Ends) < cap(w.Ends) {
		w.Ends = append(w.Ends, len(w.Letters))
	}
	return w, len(w.Letters)
}

// abbreviations are folded words that names have for others.
var abbreviations = [...]struct{ short, full string }{{"sta", "santa"}, {"sto", "santo"}, {"jr", "junior"}}

// longestShort is how many letters an abbreviation has at most.
const longestShort = 3

// LongForm is the word that a folded one is the abbreviation of; "" where it is none.
func LongForm(word []rune) string {
	if len(word) > longestShort {
		return ""
	}
	for i := range abbreviations {
		if Spells(word, abbreviations[i].short) {
			return abbreviations[i].full
		}
	}
	return ""
}

// inFull puts the word that an abbreviation, which begins at start and ends the letters, is short for in its place.
func inFull(letters []rune, start int) []rune {
	if full := LongForm(letters[start:]); full != "" {
		return append(letters[:start], []rune(full)...)
	}
	return letters
}

// ordinalMaria is Mª, the abbreviation of Maria, which folding would make ma.
var ordinalMaria = regexp.MustCompile(`(?i)\bm\.?ª`)

// Written is a name with Maria for Mª.
func Written(name []byte) []byte {
	if !bytes.Contains(name, []byte("ª")) {
		return name
	}
	return ordinalMaria.ReplaceAll(name, []byte("Maria "))
}

// IsParticleRunes tells a particle in a folded name.
func IsParticleRunes(word []rune) bool {
	return len(word) <= 3 && IsParticle(string(word))
}

// Spells reports whether a word is a text.
func Spells(word []rune, text string) bool {
	for _, r := range text {
		if len(word) == 0 || word[0] != r {
			return false
		}
		word = word[1:]
	}
	return len(word) == 0
}

// Begins reports whether a word begins with what was typed.
func Begins(word, typed []rune) bool {
	return len(typed) <= len(word) && slices.Equal(word[:len(typed)], typed)
}

// Letters counts the letters of a text.
func Letters(text []byte) (n int) {
	for _, r := range string(text) {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}
