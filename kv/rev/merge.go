package rev

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/value"
)

// Rule says how two replicas' changes of one field become one (sync.md §3).
type Rule string

// The rules.
const (
	Pick    Rule = "pick"    // the side that changed it; where both did, the winner's value, and a clash
	First   Rule = "first"   // the oldest value that is not null
	Strict  Rule = "strict"  // the side that changed it; where both did, the stricter value
	Derived Rule = "derived" // it follows from something else: as pick, and never a clash
	Union   Rule = "union"   // all elements of both lists
	Delete  Rule = "delete"  // of a whole record: it stays deleted
)

// Sides are the values of one field in two branches and in their common ancestor.
type Sides struct {
	Base, Winner, Other jsontext.Value
	Held                bool // the ancestor's body is held; otherwise Base is not known
}

// Pick returns the value of the side that changed. If both did, it returns the winner's value and reports a clash.
func (s Sides) Pick() (v jsontext.Value, clash bool) {
	switch {
	case s.Held && value.Equal(s.Base, s.Winner):
		return s.Other, false
	case s.Held && value.Equal(s.Base, s.Other):
		return s.Winner, false
	}
	return s.Winner, true
}

// Strict returns the value of the side that changed. If both did, it returns the stricter value. It reports a clash if the looser
// value loosened the base: the person that took a payment, or lifted a block, must learn of it.
func (s Sides) Strict() (v jsontext.Value, clash bool) {
	v, both := s.Pick()
	if !both {
		return v, false
	}
	loser := s.Other
	if stricter(loser, v) {
		v, loser = loser, v
	}
	return v, !s.Held || stricter(s.Base, loser)
}

// First returns the oldest value that is not null: the base's, or that of the older side. ages are the times of the two sides. If they
// are equal, the lower value is the older one.
func (s Sides) First(ages Sides) jsontext.Value {
	later := laterTime(ages.Winner, ages.Other) || value.Equal(ages.Winner, ages.Other) && lower(s.Other, s.Winner)
	switch {
	case !value.IsNull(s.Base):
		return s.Base
	case value.IsNull(s.Winner), !value.IsNull(s.Other) && later:
		return s.Other
	}
	return s.Winner
}

// strictness are the values of strict fields, the least strict first. What this version does not know is stricter than all.
var strictness = []string{"valid", "unpaid", "blocked", "refunded", "cancelled"}

// stricter tells whether a is stricter than b.
func stricter(a, b jsontext.Value) bool {
	x, y := strictnessOf(a), strictnessOf(b)
	return x > y || x == y && string(a) > string(b)
}

func strictnessOf(v jsontext.Value) int {
	if value.IsNull(v) {
		return -1
	}
	if i := slices.Index(strictness, value.Unquote(v)); i >= 0 {
		return i
	}
	return len(strictness)
}

// laterTime tells whether a stored date or date-time is later than another; null is later than any.
func laterTime(a, b jsontext.Value) bool {
	if value.IsNull(a) || value.IsNull(b) {
		return value.IsNull(a) && !value.IsNull(b)
	}
	x, y := value.Unquote(a), value.Unquote(b)
	if s, ok := value.ParseDateTime(x, nil); ok {
		if t, ok := value.ParseDateTime(y, nil); ok && !s.Equal(t) {
			return s.After(t)
		}
	}
	return x > y
}

// lower orders other values: numbers by size, as far as they are short, and texts.
func lower(a, b jsontext.Value) bool {
	if x, y := value.Int(a), value.Int(b); x != y {
		return x < y
	}
	return string(a) < string(b)
}
