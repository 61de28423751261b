package codes

import (
	"crypto/rand"
	"math"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Forms are what a scanned or typed text may mean as a ticket code, in the order they are tried (contract.md §10): the
// trimmed text, of a URL its last path segment that is not empty; and the normal form of each.
type Forms struct {
	Exact  []string
	Normal []string // NFKC, upper case, no spaces or hyphens; without those equal to one before
}

// Read reads a scan. Nothing but white space has no forms.
func Read(text string) Forms {
	var forms Forms
	text = strings.TrimSpace(text)
	forms.add(text, lastSegment(text))
	return forms
}

// add appends the forms of candidates that are not there yet.
func (f *Forms) add(candidates ...string) {
	for _, exact := range candidates {
		if exact == "" || slices.Contains(f.Exact, exact) {
			continue
		}
		f.Exact = append(f.Exact, exact)
		if normal := Normal(exact); normal != "" && !slices.Contains(f.Normal, normal) {
			f.Normal = append(f.Normal, normal)
		}
	}
}

// without are the forms that are not among others.
func (f Forms) without(others Forms) Forms {
	return Forms{Exact: less(f.Exact, others.Exact), Normal: less(f.Normal, others.Normal)}
}

func less(all, others []string) []string {
	return slices.DeleteFunc(all, func(one string) bool { return slices.Contains(others, one) })
}

// lastSegment is the last path segment of a URL that is not empty; "" for a text that is no URL.
func lastSegment(text string) string {
	if !strings.Contains(text, "://") {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	segments := strings.Split(u.EscapedPath(), "/")
	for _, segment := range slices.Backward(segments) {
		if plain, err := url.PathUnescape(segment); err == nil && strings.TrimSpace(plain) != "" {
			return strings.TrimSpace(plain)
		}
	}
	return ""
}

// The candidates of last resort (contract.md §10).
const (
	shortestPart = 6 // characters of a part of a URL that may be a code
	mostParts    = 8 // of a URL
)

// symbologies are the signs of AIM that a scanner may send before a code.
var symbologies = [...]string{"]Q1", "]C1", "]d2"}

// misread turns back the characters that a keyboard of another country writes for a hyphen.
var misread = strings.NewReplacer("'", "-", "/", "-", "ß", "-")

// ReadLast reads the candidates of last resort, for a text of which no ticket has a form: the text without the sign of its symbology;
// of a URL the values of its query, the segments of its path and its fragment; of another text what a keyboard of another country made of
// it. One of them counts if exactly one ticket has it. The forms that Read reads of the text are left out.
func ReadLast(text string) Forms {
	text = strings.TrimSpace(text)
	bare := text
	for _, sign := range symbologies {
		if rest, ok := strings.CutPrefix(text, sign); ok {
			bare = strings.TrimSpace(rest)
		}
	}
	var forms Forms
	if bare != text {
		forms.add(bare, lastSegment(bare))
	}
	if strings.Contains(bare, "://") {
		forms.add(parts(bare)...)
	} else {
		forms.add(misread.Replace(bare))
	}
	return forms.without(Read(text))
}

// parts are the parts of a URL that may be codes.
func parts(text string) (found []string) {
	u, err := url.Parse(text)
	if err != nil {
		return nil
	}
	var all []string
	for pair := range strings.FieldsFuncSeq(u.RawQuery, func(r rune) bool { return r == '&' || r == ';' }) {
		if _, escaped, ok := strings.Cut(pair, "="); ok {
			if plain, err := url.QueryUnescape(escaped); err == nil {
				all = append(all, plain)
			}
		}
	}
	for segment := range strings.SplitSeq(u.EscapedPath(), "/") {
		if plain, err := url.PathUnescape(segment); err == nil {
			all = append(all, plain)
		}
	}
	for _, part := range append(all, u.Fragment) {
		if part = strings.TrimSpace(part); len(found) < mostParts && utf8.RuneCountInString(part) >= shortestPart {
			found = append(found, part)
		}
	}
	return found
}

// Normal is the normal form of one code: NFKC, upper case, no spaces or hyphens of any sort.
func Normal(code string) string {
	for range 4 {
		next := norm.NFKC.String(strings.Map(func(r rune) rune {
			if isGap(r) {
				return -1
			}
			return unicode.ToUpper(r)
		}, norm.NFKC.String(code)))
		if next == code {
			break
		}
		code = next
	}
	return code
}

// isGap tells spaces and hyphens, those without width too.
func isGap(r rune) bool {
	switch r {
	case '\u00AD', '\u200B', '\u2060', '\uFEFF', '\u2212':
		return true
	}
	return unicode.IsSpace(r) || unicode.Is(unicode.Pd, r)
}

// Digits that a spreadsheet takes for a number lose the zeros in front. Shorter numbers are counted, 1 to 500; the longest that lists have are GTINs.
const (
	shortestCut = 6
	longestCut  = 14
)

// OtherZeros are the codes that a code of digits may be with more or fewer zeros in front, as a spreadsheet leaves it; none of any other code.
func OtherZeros(code string) (others []string) {
	bare := strings.TrimLeft(code, "0")
	if bare == "" || strings.Trim(code, "0123456789") != "" {
		return nil
	}
	for n := len(bare); n <= longestCut; n++ {
		if n != len(code) && max(n, len(code)) >= shortestCut {
			others = append(others, strings.Repeat("0", n-len(bare))+bare)
		}
	}
	return others
}

// strong is how many bits a code has that cannot be guessed, and that no other code has by chance.
const strong = 60

// IsStrong tells a code that may have so many bits, by its length and the kinds of its characters.
func IsStrong(code string) bool { return bits(code) >= strong }

// bits returns the most entropy that a code of these kinds of characters can have.
func bits(code string) float64 {
	digits, letters, lower, n := 0.0, 0.0, 0.0, 0
	for _, r := range code {
		switch {
		case unicode.IsDigit(r):
			digits = 10
		case unicode.IsLower(r):
			lower = 26
		case unicode.IsLetter(r):
			letters = 26
		default:
			continue
		}
		n++
	}
	return float64(n) * math.Log2(max(1, digits+letters+lower))
}

// crockford are the digits of a code we make.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// Draw draws a code at random.
func Draw() string {
	var random [10]byte
	rand.Read(random[:])
	return Make(random)
}

// Make is the code of 10 random bytes: 16 characters of Crockford's alphabet.
func Make(random [10]byte) string {
	var code [16]byte
	bits, have := uint32(0), 0
	n := 0
	for _, b := range random {
		bits, have = bits<<8|uint32(b), have+8
		for ; have >= 5; have -= 5 {
			code[n] = crockford[bits>>(have-5)&31]
			n++
		}
	}
	return string(code[:])
}
