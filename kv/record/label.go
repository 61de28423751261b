package record

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Label is what a door may show of a name: "Ana S." of "Ana Souza". The initial is the last name's that is no particle.
func Label(fullName string) string {
	words := strings.Fields(norm.NFC.String(fullName))
	if len(words) == 0 {
		return ""
	}
	for i := len(words) - 1; i > 0; i-- {
		if !isParticle(words[i]) {
			if initial := initialOf(words[i]); initial != "" {
				return words[0] + " " + initial + "."
			}
		}
	}
	return words[0]
}

func isParticle(word string) bool {
	switch strings.ToLower(word) {
	case "da", "de", "do", "das", "dos", "e":
		return true
	}
	return false
}

// initialOf is a word's first letter in upper case, with the marks that follow it.
func initialOf(word string) string {
	start := strings.IndexFunc(word, unicode.IsLetter)
	if start < 0 {
		return ""
	}
	var initial strings.Builder
	for i, r := range word[start:] {
		if i > 0 && !unicode.IsMark(r) {
			break
		}
		initial.WriteRune(unicode.ToUpper(r))
	}
	return initial.String()
}

// PhoneTail is the last four digits of a phone number; "" where it has fewer.
func PhoneTail(phone string) string {
	digits := make([]byte, 0, 24)
	for _, c := range []byte(phone) {
		if '0' <= c && c <= '9' {
			digits = append(digits, c)
		}
	}
	if len(digits) < 4 {
		return ""
	}
	return string(digits[len(digits)-4:])
}
