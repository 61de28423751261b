package query

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A link prints its query so that reading it again gives the same parameters, ordered by name.
func TestQueryOfALinkReadsAsItWasMeant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Query
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			q = append(q, parameter{rapid.StringN(1, 4, -1).Draw(t, "name"), rapid.String().Draw(t, "value")})
		}
		printed := string(q.AppendSorted(nil))
		again := Parse(printed)
		want := slices.Clone(q)
		slices.SortStableFunc(want, func(a, b parameter) int { return strings.Compare(a.name, b.name) })
		if !slices.Equal(again, want) {
			t.Fatalf("parseQuery(%q) = %v, want %v", printed, again, want)
		}
		if twice := string(again.AppendSorted(nil)); twice != printed {
			t.Fatalf("printed again: %q, first %q", twice, printed)
		}
	})
}

func TestQueryIsReadAsTheFrameworkReadsIt(t *testing.T) {
	for raw, want := range map[string]Query{
		"": nil, "a=1&&b": {{"a", "1"}, {"b", ""}}, "a=1;b=2": {{"a", "1;b=2"}}, "a=%zz": {{"a", "%zz"}}, "a=x+y%2B": {{"a", "x y+"}},
		"a=%ff": {{"a", "\uFFFD"}}, "a=b=c": {{"a", "b=c"}}, "=1": {{"", "1"}},
	} {
		if got := Parse(raw); !slices.Equal(got, want) {
			t.Errorf("parseQuery(%q) = %q, want %q", raw, got, want)
		}
	}
}
