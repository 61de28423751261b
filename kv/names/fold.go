package names

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold is a text as searches compare it: decomposed (NFKD) without its marks, in lower case, ß as ss and the like, every form of the
// apostrophe as ', every form of the hyphen as -, runs of white space as one space.
func Fold(s string) string { return string(AppendFold(nil, []byte(s))) }

// AppendFold appends the folded form of s.
func AppendFold(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case 'A' <= c && c <= 'Z':
			dst = append(dst, c+'a'-'A')
			i++
		case c == ' ' || '\t' <= c && c <= '\r':
			dst = appendSpace(dst)
			i++
		case c == '`':
			dst = append(dst, '\'')
			i++
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, size := utf8.DecodeRune(s[i:])
			if int(r) < len(latin) {
				form := latin[r]
				if strings.HasPrefix(form, " ") {
					dst, form = appendSpace(dst), form[1:]
				}
				dst = append(dst, form...)
			} else {
				dst = foldRune(dst, s[i:i+size], r)
			}
			i += size
		}
	}
	return dst
}

func appendSpace(dst []byte) []byte {
	if len(dst) > 0 && dst[len(dst)-1] == ' ' {
		return dst
	}
	return append(dst, ' ')
}

// foldRune appends the folded form of one character r with the text s.
func foldRune(dst, s []byte, r rune) []byte {
	if 0x300 <= r && r < 0x370 {
		return dst
	}
	if plain := plainForm(r); plain != r { // before it is decomposed: ´ would be a space and a mark
		return append(dst, byte(plain))
	}
	var stack [64]byte
	for _, part := range string(norm.NFKD.Append(stack[:0], s...)) {
		switch {
		case unicode.Is(unicode.Mn, part):
		case unicode.IsSpace(part):
			dst = appendSpace(dst)
		default:
			dst = appendLower(dst, part)
		}
	}
	return dst
}

// appendLower appends a letter in lower case, those that decompose into none as the letters they are taken for.
func appendLower(dst []byte, r rune) []byte {
	switch r = plainForm(unicode.ToLower(r)); r {
	case 'ß':
		return append(dst, "ss"...)
	case 'æ':
		return append(dst, "ae"...)
	case 'œ':
		return append(dst, "oe"...)
	case 'ø':
		return append(dst, 'o')
	case 'ł':
		return append(dst, 'l')
	case 'đ', 'ð':
		return append(dst, 'd')
	case 'þ':
		return append(dst, "th"...)
	case 'ı':
		return append(dst, 'i')
	case 'ς':
		r = 'σ'
	}
	return utf8.AppendRune(dst, r)
}

// plainForm is ' for a character that people type for an apostrophe, - for one that they type for a hyphen, and any other itself.
func plainForm(r rune) rune {
	switch r {
	case '`', '\u00b4', '\u02b9', '\u02bb', '\u02bc', '\u02bd', '\u02be', '\u02bf', '\u02c8', '\u02ca', '\u02cb', '\u0384', '\u055a',
		'\u1fbd', '\u1fbf', '\u1ffd', '\u1ffe', '\u2018', '\u2019', '\u201b', '\u2032', '\u2035', '\ua78c':
		return '\''
	case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2015', '\u2043', '\u2212', '\ufe58':
		return '-'
	}
	return r
}

// latin are the folded forms of the characters below U+0180, which nearly all names are written with.
var latin = func() (forms [0x180]string) {
	for r := rune(utf8.RuneSelf); int(r) < len(forms); r++ {
		forms[r] = string(foldRune(nil, []byte(string(r)), r))
	}
	return forms
}()
