package record

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Integer is an integer from Min to Max; both zero: of 32 bits.
type Integer struct{ Min, Max int64 }

func (t Integer) bounds() (low, high int64) {
	if t == (Integer{}) {
		return math.MinInt32, math.MaxInt32
	}
	return t.Min, t.Max
}

func (t Integer) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	n, ok := integer(v)
	low, high := t.bounds()
	switch {
	case !ok:
		return nil, TextNotInteger
	case n > high:
		return nil, AtMost(high)
	case n < low:
		return nil, AtLeast(low)
	}
	return Number(n), ""
}

func (t Integer) schema(d Direction) map[string]any {
	low, high := t.bounds()
	s := map[string]any{"type": "integer", "minimum": low, "maximum": high}
	if d != Reply {
		s["type"] = []string{"integer", "string"}
	}
	return s
}

// integer reads an integer as contract.md §4 takes it: 7, "7", 7.0, spaces and leading zeros. One beyond 18 digits comes
// back as the largest or smallest there is.
func integer(v jsontext.Value) (n int64, ok bool) {
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

// Bool is true or false, or one of the words for them.
type Bool struct{}

func (Bool) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	var b, ok bool
	switch v.Kind() {
	case 't', 'f':
		b, ok = v[0] == 't', true
	case '"', '0':
		s, _ := plain(v)
		b, ok = ParseBool(s)
	}
	switch {
	case !ok:
		return nil, TextNotBool
	case b:
		return jsontext.Value("true"), ""
	}
	return jsontext.Value("false"), ""
}

func (Bool) schema(d Direction) map[string]any {
	if d == Reply {
		return map[string]any{"type": "boolean"}
	}
	return map[string]any{"type": []string{"boolean", "string", "integer"}}
}

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
