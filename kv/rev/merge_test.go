package rev_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/rev"
)

// TestSides: rows may be added and must never be changed.
func TestSides(t *testing.T) {
	text := func(v string) jsontext.Value {
		if v == "" {
			return nil
		}
		return jsontext.Value(v)
	}
	early, late := `"2026-05-01T12:00:00Z"`, `"2026-05-01T12:00:00.5Z"`
	for _, row := range []struct {
		name                string
		base, winner, other string
		held                bool
		pick, strict, first string
		clash, loosened     bool
	}{
		{"one side changed", `"valid"`, `"valid"`, `"blocked"`, true, `"blocked"`, `"blocked"`, `"valid"`, false, false},
		{"the winner changed", `"valid"`, `"blocked"`, `"valid"`, true, `"blocked"`, `"blocked"`, `"valid"`, false, false},
		{"both became stricter", `"valid"`, `"unpaid"`, `"cancelled"`, true, `"unpaid"`, `"cancelled"`, `"valid"`, true, false},
		{"one became looser", `"unpaid"`, `"valid"`, `"cancelled"`, true, `"valid"`, `"cancelled"`, `"unpaid"`, true, true},
		{"a state of a newer version", `"unpaid"`, `"blocked"`, `"lost"`, true, `"blocked"`, `"lost"`, `"unpaid"`, true, false},
		{"the base is not held", "", `"blocked"`, `"unpaid"`, false, `"blocked"`, `"blocked"`, `"blocked"`, true, true},
		{"an instant a half second later", "null", late, early, true, late, early, early, true, false},
		{"objects in another order", `{"a":1,"b":2}`, `{"b":2,"a":1}`, `{"a":2}`, true, `{"a":2}`, `{"a":2}`, `{"a":1,"b":2}`, false, false},
		{"taken away", `1`, "", `1`, true, "", "", `1`, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := rev.Sides{Base: text(row.base), Winner: text(row.winner), Other: text(row.other), Held: row.held}
			if v, clash := s.Pick(); string(v) != row.pick || clash != row.clash {
				t.Errorf("Pick = %s, %t, want %s, %t", v, clash, row.pick, row.clash)
			}
			if v, clash := s.Strict(); string(v) != row.strict || clash != row.loosened {
				t.Errorf("Strict = %s, %t, want %s, %t", v, clash, row.strict, row.loosened)
			}
			if v := s.First(s); string(v) != row.first {
				t.Errorf("First = %s, want %s", v, row.first)
			}
		})
	}
}
