package record

import (
	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/rev"
	"doorward/kv/value"
)

// unknown merges the fields that this version does not know: the winner's in its order, then those that only the other side
// has.
func (m *merger) unknown() (merged []value.Member) {
	if len(m.winner.extra)+len(m.other.extra) == 0 {
		return nil
	}
	winner, other := unknownOf(m.winner), unknownOf(m.other)
	var base map[string]jsontext.Value
	if m.base != nil {
		base = unknownOf(m.base)
	}
	seen := map[string]bool{}
	for _, side := range [2]*Doc{m.winner, m.other} {
		for _, member := range side.extra {
			name := value.Unquote([]byte(member.Name))
			if seen[name] {
				continue
			}
			seen[name] = true
			if v := m.member(name, rev.Sides{Base: base[name], Winner: winner[name], Other: other[name], Held: m.base != nil}); v != nil {
				merged = append(merged, value.Member{Name: member.Name, Value: v})
			}
		}
	}
	return merged
}

// member is what becomes of an unknown field; nil: it is taken away.
func (m *merger) member(name string, s rev.Sides) jsontext.Value {
	if value.Equal(s.Winner, s.Other) {
		return s.Winner
	}
	v, clash := s.Pick()
	return m.choose(name, rev.Pick, s, choice{v, clash})
}

// Unknown names the fields that this version does not store, in the order in which they stand.
func (d *Doc) Unknown() (names []string) {
	for _, m := range d.extra {
		names = append(names, value.Unquote([]byte(m.Name)))
	}
	return names
}

// unknownOf returns the fields that this version does not know, by name.
func unknownOf(d *Doc) map[string]jsontext.Value {
	out := make(map[string]jsontext.Value, len(d.extra))
	for _, m := range d.extra {
		out[value.Unquote([]byte(m.Name))] = m.Value
	}
	return out
}
