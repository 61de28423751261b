package query

import (
	"net/url"
	"slices"
	"strings"
)

// Query is a query string: its parameters in the order given. Unlike url.ParseQuery it takes a semicolon as a character, and a
// broken escape as it stands.
type Query []parameter

type parameter struct{ name, value string }

// Parse reads a raw query string.
func Parse(raw string) Query {
	var q Query
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		q = append(q, parameter{unescape(name), unescape(value)})
	}
	return q
}

// unescape reads one side of a parameter as UTF-8.
func unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		s = plain
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Last is a parameter's value; of several the last one counts.
func (q Query) Last(name string) (string, bool) {
	for _, p := range slices.Backward(q) {
		if p.name == name {
			return p.value, true
		}
	}
	return "", false
}

// All are a parameter's values, without blank ones.
func (q Query) All(name string) []string {
	var values []string
	for _, p := range q {
		if p.name == name && strings.TrimSpace(p.value) != "" {
			values = append(values, strings.TrimSpace(p.value))
		}
	}
	return values
}

// Text is a parameter's value without the space around it; blank counts as absent.
func (q Query) Text(name string) (string, bool) {
	v, _ := q.Last(name)
	v = strings.TrimSpace(v)
	return v, v != ""
}

// AppendSorted prints the parameters ordered by name, those of one name as they came.
func (q Query) AppendSorted(dst []byte) []byte {
	sorted := slices.Clone(q)
	slices.SortStableFunc(sorted, func(a, b parameter) int { return strings.Compare(a.name, b.name) })
	for i, p := range sorted {
		if i > 0 {
			dst = append(dst, '&')
		}
		dst = append(dst, url.QueryEscape(p.name)...)
		dst = append(dst, '=')
		dst = append(dst, url.QueryEscape(p.value)...)
	}
	return dst
}

// With is the query with one parameter set, all of its repeats replaced; without a value it is dropped.
func (q Query) With(name, value string) Query {
	changed := make(Query, 0, len(q)+1)
	for _, p := range q {
		if p.name != name {
			changed = append(changed, p)
		}
	}
	if value == "" {
		return changed
	}
	return append(changed, parameter{name, value})
}
