package query

import (
	"math"
	"strings"

	"doorward/kv/fault"
	"doorward/kv/value"
)

// window of a list (contract.md §5).
const (
	defaultLimit = 10
	MaxLimit     = 100
	// farOffset stands for any offset that no list reaches; a limit can be added to it.
	farOffset = math.MaxInt - MaxLimit
)

// Span is the part of a list that is asked for.
type Span struct{ Limit, Offset int }

// ReadSpan reads limit and offset; what cannot be read counts as absent.
func ReadSpan(q Query) Span {
	s := Span{Limit: defaultLimit}
	if text, ok := q.Last("limit"); ok {
		if n := natural(text); n > 0 {
			s.Limit = min(n, MaxLimit)
		}
	}
	if text, ok := q.Last("offset"); ok {
		s.Offset = natural(text)
	}
	return s
}

// natural reads digits, space around them allowed: 0 for anything else, farOffset for more than fits.
func natural(text string) int {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0
	}
	n := 0
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0
		}
		if n > (farOffset-9)/10 {
			n = farOffset
			continue
		}
		n = n*10 + int(c-'0')
	}
	return min(n, farOffset)
}

// Flag reads a parameter that is true or false; blank counts as absent.
func (q Query) Flag(name string, faults *fault.ByField) bool {
	text, given := q.Text(name)
	if !given {
		return false
	}
	v, ok := value.ParseBool(text)
	if !ok {
		faults.Add(name, fault.NotBool)
	}
	return v
}
