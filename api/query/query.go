package query

import (
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"doorward/kv/desk"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/value"
)

// Query is a query string: its parameters ordered by name, those of one name in the order given.
type Query []parameter

type parameter struct{ name, value string }

// Parse reads a raw query string. It returns value.ErrEscape as value.ParseQuery does.
func Parse(raw string) (q Query, err error) {
	values, err := value.ParseQuery(raw)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, v := range values[name] {
			q = append(q, parameter{name, v})
		}
	}
	return q, err
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

// Value is a parameter's value as Last has it; "" without one.
func (q Query) Value(name string) string {
	v, _ := q.Last(name)
	return v
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

// Filter is a query parameter that a list understands.
type Filter struct {
	Name  string // the parameter's
	Field string // what it is about: a field of the kind, or "updated_at"
	Sort  Sort
}

// Sort is how a filter's values are read.
type Sort byte

const (
	ByID       Sort = iota // integers, any of them
	ByIDOrNull             // the same, and null
	ByBool
	ByText  // any of the texts
	ByStart // a moment, and everything after it
	byEnd   // a moment, and everything before it
)

// By are filters of one sort, each with the name of its field.
func By(sort Sort, fields ...string) (all []Filter) {
	for _, f := range fields {
		all = append(all, Filter{f, f, sort})
	}
	return all
}

// Spans are the two filters of a moment.
func Spans(name, field string) []Filter {
	return []Filter{{name + "_after", field, ByStart}, {name + "_before", field, byEnd}}
}

// Part reads which part of a list a query string asks for: the conditions that it sets by some filters, with all that is wrong with them, and
// limit and offset; what cannot be read of these counts as absent.
func Part(filters []Filter, q Query, zone *time.Location) (p desk.Part, faults fault.ByField) {
	for _, f := range filters {
		w, ok := f.read(q, zone, &faults)
		if ok {
			p.Where = append(p.Where, w)
		}
	}
	limit, _ := q.Last("limit")
	if p.Limit = min(natural(limit), MaxLimit); p.Limit == 0 {
		p.Limit = defaultLimit
	}
	offset, _ := q.Last("offset")
	p.Offset = natural(offset)
	return p, faults
}

// read makes one filter's condition; ok is false where it sets none.
func (f Filter) read(q Query, zone *time.Location, faults *fault.ByField) (w desk.Where, ok bool) {
	w.Field = f.Field
	switch f.Sort {
	case ByID, ByIDOrNull, ByText:
		for _, text := range q.All(f.Name) {
			if v, wrong := f.value(text); wrong == "" {
				w.In = append(w.In, v)
			} else {
				faults.Add(f.Name, wrong)
			}
		}
		return w, len(w.In) > 0
	}
	text, given := q.Text(f.Name)
	if !given {
		return w, false
	}
	wrong := f.single(&w, text, zone)
	if wrong != "" {
		faults.Add(f.Name, wrong)
	}
	return w, wrong == ""
}

// value is one of a filter's alternatives.
func (f Filter) value(text string) (v any, wrong string) {
	if f.Sort == ByText {
		if strings.IndexByte(text, 0) >= 0 {
			return nil, fault.NUL
		}
		return text, ""
	}
	if f.Sort == ByIDOrNull && text == "null" {
		return nil, ""
	}
	n, ok := value.ParseInt(text)
	switch {
	case !ok:
		return nil, fault.InvalidFilter(text)
	case n < 1 || n > record.MaxID:
		return nil, fault.InvalidChoice(text)
	}
	return n, ""
}

// single reads a filter that has one value.
func (f Filter) single(w *desk.Where, text string, zone *time.Location) (wrong string) {
	if f.Sort == ByBool {
		b, ok := value.ParseBool(text)
		if !ok {
			return fault.NotBool
		}
		w.In = []any{b}
		return ""
	}
	t, ok := moment(text, f.Sort == byEnd, zone)
	switch {
	case !ok:
		return fault.FilterTime
	case f.Sort == byEnd:
		w.To = t
	default:
		w.From = t
	}
	return ""
}

// moment reads a bound: a date-time, or a date, which means its first or its last microsecond.
func moment(text string, end bool, zone *time.Location) (time.Time, bool) {
	if day, ok := value.ParseDate(text); ok {
		if end {
			return value.DayStart(day.AddDate(0, 0, 1), zone).Add(-time.Microsecond), true
		}
		return value.DayStart(day, zone), true
	}
	if t, ok := value.ParseDateTime(text, zone); ok {
		return t, true
	}
	if i := strings.LastIndexByte(text, ' '); i > 0 { // a plus that was not escaped
		return value.ParseDateTime(text[:i]+"+"+text[i+1:], zone)
	}
	return time.Time{}, false
}

// window of a list (contract.md §5).
const (
	defaultLimit = 10
	MaxLimit     = 100
	// farOffset stands for any offset that no list reaches; a limit can be added to it.
	farOffset = math.MaxInt - MaxLimit
)

// natural reads digits, space around them allowed: 0 for anything else, farOffset for more than fits.
func natural(text string) int {
	text = strings.TrimSpace(text)
	if strings.Trim(text, "0123456789") != "" {
		return 0
	}
	n, _ := strconv.ParseUint(text, 10, 64) // 0 for no digits, the largest number for more than fits
	return int(min(n, farOffset))
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
