package names

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Label returns what a door may show of a name: "Ana S." of "Ana Souza". The initial is that of the last word that is no particle and
// begins with a letter. If there is none, the label is the first word alone, or its first character in a script that puts no spaces
// between the parts of a name.
func Label(fullName string) string {
	words := labelWords(norm.NFC.String(fullName))
	if len(words) == 0 {
		return ""
	}
	for _, word := range slices.Backward(words[1:]) {
		if !IsParticle(word) && isCalled(word) {
			return words[0] + " " + initialOf(word) + "."
		}
	}
	if strings.ContainsFunc(words[0], unspaced) {
		return initialOf(words[0]) + "."
	}
	return words[0]
}

// labelWords are the words of a name, without the apostrophes and hyphens around them.
func labelWords(name string) (words []string) {
	for _, word := range strings.FieldsFunc(name, parts) {
		word = strings.TrimLeftFunc(word, func(r rune) bool { return unicode.IsMark(r) || joins(r) })
		if word = strings.TrimRightFunc(word, joins); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// parts tells what stands between the words that a label is made of.
func parts(r rune) bool {
	return !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Digit) && !joins(r)
}

// joins tells the apostrophes and hyphens.
func joins(r rune) bool { return strings.ContainsRune("'’-\u2010\u2011", r) }

// unspaced tells the letters of scripts that put no spaces between words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Yi,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
}

// isCalled reports whether a word can be part of a name: it begins with a letter, and is no ordinal, as 2º.
func isCalled(word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	return unicode.IsLetter(first) && first != 'º' && first != 'ª'
}

// IsParticle reports whether a word of a name is a particle, as da and dos. Ranked searches do not count it.
func IsParticle(word string) bool {
	switch strings.ToLower(word) {
	case "da", "de", "do", "das", "dos", "e":
		return true
	}
	return false
}

// initialOf is a word's first character in upper case, with the marks that follow it.
func initialOf(word string) string {
	var initial strings.Builder
	for i, r := range word {
		if i > 0 && !unicode.IsMark(r) {
			break
		}
		initial.WriteRune(unicode.ToUpper(r))
	}
	return initial.String()
}

// PhoneTail is the last four digits of a phone number; "" where it has fewer.
func PhoneTail(phone string) string {
	digits := Digits(phone)
	if len(digits) < 4 {
		return ""
	}
	return digits[len(digits)-4:]
}
