package query

import (
	"strings"
	"time"

	"doorward/kv/desk"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/value"
)

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

// Conditions makes a query string's filters into conditions; everything that is wrong with them is in the faults.
func Conditions(filters []Filter, q Query, zone *time.Location) (where []desk.Where, faults fault.ByField) {
	for _, f := range filters {
		w, ok := f.read(q, zone, &faults)
		if ok {
			where = append(where, w)
		}
	}
	return where, faults
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
			return dayStart(day.AddDate(0, 0, 1), zone).Add(-time.Microsecond), true
		}
		return dayStart(day, zone), true
	}
	if t, ok := value.ParseDateTime(text, zone); ok {
		return t, true
	}
	if i := strings.LastIndexByte(text, ' '); i > 0 { // a plus that was not escaped
		return value.ParseDateTime(text[:i]+"+"+text[i+1:], zone)
	}
	return time.Time{}, false
}

// dayStart is the first instant of a local day, given as its midnight in UTC. Where clocks are set at midnight that may be another
// hour, or the first of two midnights.
func dayStart(day time.Time, zone *time.Location) time.Time {
	for t := day.Add(-24 * time.Hour).In(zone); ; { // no zone is so far ahead
		_, offset := t.Zone()
		start := day.Add(-time.Duration(offset) * time.Second)
		if start.Before(t) {
			start = t
		}
		_, end := t.ZoneBounds()
		if end.IsZero() || start.Before(end) {
			return start
		}
		t = end
	}
}
