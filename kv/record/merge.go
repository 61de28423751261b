package record

import (
	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/rev"
	"doorward/kv/value"
)

// Rule is the field's merge rule.
func (f *Field) Rule() rev.Rule {
	switch {
	case f.Flags.Has(Strict):
		return rev.Strict
	case f.Flags.Has(Frozen):
		return rev.First
	case !f.Stored(), f.Flags.Has(ServerOnly):
		return rev.Derived
	}
	return rev.Pick
}

// Clash is a value that a merge did not take and that a person should see.
type Clash struct {
	Field  string         // "": the whole record
	Winner jsontext.Value // what stands; nil: nothing
	Other  jsontext.Value // what does not; nil: the field was taken away
	Rule   rev.Rule
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
	if created := merged.Time("created_at"); m.own && m.taken && !created.IsZero() {
		for _, settle := range k.rules {
			settle(merged, nil, Moment{Now: created})
		}
	}
	return merged, m.clashes
}

// merger is one merge under way.
type merger struct {
	base, winner, other *Doc // base may be nil
	own, taken          bool // the result differs from the other, from the winner
	clashes             []Clash
}

// field merges a known field.
func (m *merger) field(i int, f *Field) jsontext.Value {
	s := rev.Sides{Winner: m.winner.values[i], Other: m.other.values[i], Held: m.base != nil}
	if s.Held {
		s.Base = m.base.values[i]
	}
	if value.Equal(s.Winner, s.Other) {
		return s.Winner
	}
	rule := f.Rule()
	switch rule {
	case rev.First:
		return m.choose(f.Name, rule, s, choice{s.First(m.ages(f, s)), !s.Held})
	case rev.Strict:
		v, clash := s.Strict()
		return m.choose(f.Name, rule, s, choice{v, clash})
	}
	v, clash := s.Pick()
	return m.choose(f.Name, rule, s, choice{v, clash && rule == rev.Pick})
}

// ages returns the times that tell which side of a field is the older one: those of its values, or those at which the records were
// created.
func (m *merger) ages(f *Field, s rev.Sides) rev.Sides {
	switch f.Type.(type) {
	case Date, DateTime:
		return s
	}
	return rev.Sides{Winner: m.winner.Value("created_at"), Other: m.other.Value("created_at")}
}

// choice is a value that a rule chose. clash tells that a person should see the other one.
type choice struct {
	value jsontext.Value
	clash bool
}

// choose notes how a choice differs from each side, and its clash.
func (m *merger) choose(name string, rule rev.Rule, s rev.Sides, c choice) jsontext.Value {
	own, taken := !value.Equal(c.value, s.Other), !value.Equal(c.value, s.Winner)
	m.own, m.taken = m.own || own, m.taken || taken
	if !c.clash {
		return c.value
	}
	loser := s.Other
	if taken {
		loser = s.Winner
	}
	m.clashes = append(m.clashes, Clash{Field: name, Winner: c.value, Other: loser, Rule: rule})
	return c.value
}
