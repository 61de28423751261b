package record

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/rev"
	"doorward/kv/value"
)

// Rule says how two replicas' changes of one field become one (sync.md §3).
type Rule string

// The rules.
const (
	RulePick    Rule = "pick"    // the side that changed it; where both did, the winner's value, and a clash
	RuleFirst   Rule = "first"   // the oldest value that is not null
	RuleStrict  Rule = "strict"  // the side that changed it; where both did, the stricter value
	RuleDerived Rule = "derived" // it follows from something else: as pick, and never a clash
	RuleDelete  Rule = "delete"  // of a whole record: it stays deleted
)

// Rule is the field's merge rule.
func (f *Field) Rule() Rule {
	switch {
	case f.Flags.Has(Strict):
		return RuleStrict
	case f.Flags.Has(Frozen):
		return RuleFirst
	case !f.Stored(), f.Flags.Has(ServerOnly):
		return RuleDerived
	}
	return RulePick
}

// Clash is a value that a merge did not take and that a person should see.
type Clash struct {
	Field  string         // "": the whole record
	Winner jsontext.Value // what stands; nil: nothing
	Other  jsontext.Value // what does not; nil: the field was taken away
	Rule   Rule
	Leaf   rev.ID // the leaf that was merged in when it was seen; zero from Merge
}

// Merge makes one record of two that replicas made of base, field by field by each field's rule: what only one side changed is
// taken; what both changed to the same is that. Without base (nil: its body is not held) every field that differs is a clash,
// and pick takes the winner's. Fields that this version does not know are merged by pick. Where the result is neither side's
// the kind's own rules (Settle) are kept as on the day of its creation.
//
// Values are compared as Apply compares them, and an equal one is the winner's text. Everything follows from the arguments
// alone. The result shares its values with them.
func Merge(k *Kind, base, winner, other *Doc) (merged *Doc, clashes []Clash) {
	m := merger{base: base, winner: winner, other: other}
	merged = &Doc{Kind: k, values: make([]jsontext.Value, len(k.Fields))}
	for i := range k.Fields {
		if f := &k.Fields[i]; f.Stored() {
			merged.values[i] = m.field(i, f)
		}
	}
	merged.extra = m.unknown()
	if created := merged.Time("created_at"); m.own && m.taken && k.settle != nil && !created.IsZero() {
		k.settle(merged, nil, Moment{Now: created})
	}
	return merged, m.clashes
}

// merger is one merge under way.
type merger struct {
	base, winner, other *Doc // base may be nil
	own, taken          bool // the result differs from the other, from the winner
	clashes             []Clash
}

// sides are one field's values; base is nil where none is held.
type sides struct{ base, winner, other jsontext.Value }

// field is what becomes of a known field.
func (m *merger) field(i int, f *Field) jsontext.Value {
	s := sides{winner: m.winner.values[i], other: m.other.values[i]}
	if m.base != nil {
		s.base = m.base.values[i]
	}
	if value.Equal(s.winner, s.other) {
		return s.winner
	}
	rule := f.Rule()
	switch rule {
	case RuleFirst:
		v := m.first(f, s)
		return m.choose(f.Name, rule, s, v, m.base == nil)
	case RuleStrict:
		v, clash := m.strict(s)
		return m.choose(f.Name, rule, s, v, clash)
	}
	v, clash := m.pick(s)
	return m.choose(f.Name, rule, s, v, clash && rule == RulePick)
}

// choose notes what a value means for the result, and the clash if it is one.
func (m *merger) choose(name string, rule Rule, s sides, v jsontext.Value, clash bool) jsontext.Value {
	own, taken := !value.Equal(v, s.other), !value.Equal(v, s.winner)
	m.own, m.taken = m.own || own, m.taken || taken
	if !clash {
		return v
	}
	loser := s.other
	if taken {
		loser = s.winner
	}
	m.clashes = append(m.clashes, Clash{Field: name, Winner: v, Other: loser, Rule: rule})
	return v
}

// pick takes the side that changed; where both did it is a clash.
func (m *merger) pick(s sides) (v jsontext.Value, clash bool) {
	switch {
	case m.base != nil && value.Equal(s.base, s.winner):
		return s.other, false
	case m.base != nil && value.Equal(s.base, s.other):
		return s.winner, false
	}
	return s.winner, true
}

// strict is pick, but of two changes it takes the stricter. It is a clash where that overrules one that loosened: who paid, or
// lifted a block, must learn of it.
func (m *merger) strict(s sides) (v jsontext.Value, clash bool) {
	v, both := m.pick(s)
	if !both {
		return v, false
	}
	loser := s.other
	if stricter(loser, v) {
		v, loser = loser, v
	}
	return v, m.base == nil || stricter(s.base, loser)
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

// first is the oldest value that is not null: base's; else the earlier one of two times; of other values, the one of the side
// that was created earlier.
func (m *merger) first(f *Field, s sides) jsontext.Value {
	var later bool
	switch f.Type.(type) {
	case Date, DateTime:
		later = laterTime(s.winner, s.other)
	default:
		x, y := m.winner.Value("created_at"), m.other.Value("created_at")
		later = laterTime(x, y) || value.Equal(x, y) && lower(s.other, s.winner)
	}
	switch {
	case !value.IsNull(s.base):
		return s.base
	case value.IsNull(s.winner), !value.IsNull(s.other) && later:
		return s.other
	}
	return s.winner
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
