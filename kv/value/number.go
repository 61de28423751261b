package value

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ReadInteger reads an integer as contract.md §4 takes it: 7, "7", 7.0, spaces and leading zeros. One beyond 18 digits comes
// back as the largest or smallest there is.
func ReadInteger(v jsontext.Value) (n int64, ok bool) {
	switch v.Kind() {
	case '0':
		s := string(v)
		if whole, places, point := strings.Cut(s, "."); point && strings.Trim(places, "0") == "" {
			s = whole
		}
		return ParseInt(s)
	case '"':
		return ParseInt(Unquote(v))
	}
	return 0, false
}

// ParseInt reads an integer's text: ASCII digits after an optional minus, spaces around and leading zeros taken. One beyond
// 18 digits comes back as the largest or smallest int64.
func ParseInt(text string) (n int64, ok bool) {
	digits := strings.TrimSpace(text)
	digits, negative := strings.CutPrefix(digits, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	digits = strings.TrimLeft(digits, "0")
	if len(digits) > 18 {
		n = math.MaxInt64
	} else {
		for _, c := range []byte(digits) {
			n = n*10 + int64(c-'0')
		}
	}
	if negative {
		return -n, true
	}
	return n, true
}

// Number is an integer's stored form.
func Number(n int64) jsontext.Value { return strconv.AppendInt(nil, n, 10) }

// ParseBool reads a word for true or false, in any case: true, 1, yes, on, t, y; false, 0, no, off, f, n.
func ParseBool(text string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "1", "yes", "on", "t", "y":
		return true, true
	case "false", "0", "no", "off", "f", "n":
		return false, true
	}
	return false, false
}

// maxNumber is how many characters a number has at most in JSON that is kept as it was given. A list that shows one of thousands of digits
// cannot be read at all by clients in some languages.
const maxNumber = 64

// HasLongNumber reports whether JSON holds, at any depth, a number of more than 64 characters.
func HasLongNumber(v []byte) bool {
	size := 0
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == '"':
			i, size = skipString(v, i)-1, 0
		case '0' <= c && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
			if size++; size > maxNumber {
				return true
			}
		default:
			size = 0
		}
	}
	return false
}

// Cents reads a stored amount: "12.50" is 1250.
func Cents(v jsontext.Value) int64 {
	var n int64
	negative := false
	for _, c := range v {
		switch {
		case '0' <= c && c <= '9':
			n = n*10 + int64(c-'0')
		case c == '-':
			negative = true
		}
	}
	if negative {
		return -n
	}
	return n
}

// AppendAmount appends an amount of cents as a stored amount is written.
func AppendAmount(dst []byte, cents int64) []byte {
	dst = append(dst, '"')
	if cents < 0 {
		dst, cents = append(dst, '-'), -cents
	}
	dst = strconv.AppendInt(dst, cents/100, 10)
	return append(dst, '.', byte('0'+cents/10%10), byte('0'+cents%10), '"')
}
