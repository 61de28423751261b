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
