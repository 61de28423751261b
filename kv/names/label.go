package names

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Label returns what a door may show of a name: "Ana S." of "Ana Souza", of "Dra. Ana Souza" and of "Souza, Ana". The initial is that of the
// last word that is no particle and begins with a letter. If there is none, the label is the first word alone, or its first character in a
// script that puts no spaces between the parts of a name.
func Label(fullName string) string {
	words := spokenWords(norm.NFC.String(fullName))
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

// spokenWords are the words of a name as it is said: without titles, and with the surname behind. A name of titles alone keeps them.
func spokenWords(name string) []string {
	words := labelWords(name)
	said := untitled(words)
	if strings.Contains(name, ",") {
		said = surnameLast(name)
	}
	if len(said) == 0 {
		return words
	}
	return said
}

// surnameLast are the words of a name with commas, without titles. Of two parts the first one is the surname.
func surnameLast(name string) []string {
	var parts [][]string
	for _, part := range splitSurname(name) {
		if said := untitled(labelWords(part)); len(said) > 0 {
			parts = append(parts, said)
		}
	}
	if len(parts) == 2 {
		slices.Reverse(parts)
	}
	return slices.Concat(parts...)
}

// splitSurname parts a name at its commas, which are between a surname and what comes before it. A comma without a space behind it is
// between words, as any other sign.
func splitSurname(name string) []string {
	parts := strings.Split(name, ",")
	for _, part := range parts[1:] {
		if first, _ := utf8.DecodeRuneInString(part); !unicode.IsSpace(first) {
			return []string{name}
		}
	}
	return parts
}

// untitled are the words of a name after its titles.
func untitled(words []string) []string {
	for titled := false; len(words) > 0; words = words[1:] {
		is, other := titles[strings.ToLower(words[0])]
		switch {
		case is == title, is == titleOrName && len(words) > 2:
			titled = true
		case other || !titled || !IsParticle(words[0]) && isCalled(words[0]):
			return words
		}
	}
	return nil
}

// A word before a name that is no part of it.
const (
	title       = iota + 1
	titleOrName // a title if two more words follow, else a name
)

// titles are in Portuguese, English and Spanish, of churches and of daily life, in lower case.
var titles = func() map[string]int {
	all := map[string]int{"dom": titleOrName, "don": titleOrName, "irma": titleOrName, "min": titleOrName}
	for _, word := range strings.Fields("" +
		"pr pra pastor pastora pb pba presb presbítero presbitero presbítera presbitera bispo bispa ap apóstolo apostolo apóstola apostola " +
		"ev evang evangelista dc diac diácono diacono diaconisa rev revmo revma revdo revda reverendo reverenda " +
		"missionário missionario missionária missionaria pe padre frei irmão irmao irmã ir monsenhor mons cônego conego " +
		"sr sra srta senhor senhora senhorita dona dr dra doutor doutora prof profa profª professor professora eng enga engª adv " +
		"mr mrs ms mx miss madam bishop deacon deaconess reverend father fr brother bro br sister sis ps evangelist apostle missionary minister " +
		"hno hna hermano hermana obispo obispa sor señor señora señorita doña lic ing misionero misionera") {
		all[word] = title
	}
	return all
}()

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
