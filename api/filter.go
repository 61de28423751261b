package api

import (
	"strings"
	"time"

	"doorward/kv"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/value"
)

// filter is a query parameter that a list understands.
type filter struct {
	name  string // the parameter's
	field string // what it is about: a field of the kind, or "updated_at"
	sort  filterSort
}

// filterSort is how a filter's values are read.
type filterSort byte

const (
	byID       filterSort = iota // integers, any of them
	byIDOrNull                   // the same, and null
	byBool
	byText  // any of the texts
	byStart // a moment, and everything after it
	byEnd   // a moment, and everything before it
)

// spans are the two filters of a moment.
func spans(name, field string) []filter {
	return []filter{{name + "_after", field, byStart}, {name + "_before", field, byEnd}}
}

// The filters of the public lists (spec part 4).
var (
	peopleFilters = join(
		[]filter{{"church_id", "church_id", byID}},
		spans("created_at", "created_at"), spans("updated_at", "updated_at"),
		[]filter{{"is_leader", "is_leader", byBool}, {"is_pastor", "is_pastor", byBool}},
	)
	eventFilters = join(
		[]filter{{"church_id", "church_id", byIDOrNull}, {"regional_id", "regional_id", byIDOrNull}},
		spans("created_at", "created_at"), spans("updated_at", "updated_at"),
		spans("start", "start_datetime"), spans("end", "end_datetime"),
	)
)

func join(lists ...[]filter) []filter {
	var all []filter
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// readFilters makes a query string's filters into conditions; everything that is wrong with them is in the faults.
func readFilters(filters []filter, q query, zone *time.Location) (where []kv.Where, faults fault.ByField) {
	for _, f := range filters {
		w, ok := f.read(q, zone, &faults)
		if ok {
			where = append(where, w)
		}
	}
	return where, faults
}

// read makes one filter's condition; ok is false where it sets none.
func (f filter) read(q query, zone *time.Location, faults *fault.ByField) (w kv.Where, ok bool) {
	w.Field = f.field
	switch f.sort {
	case byID, byIDOrNull, byText:
		for _, text := range q.all(f.name) {
			if v, fault := f.value(text); fault == "" {
				w.In = append(w.In, v)
			} else {
				faults.Add(f.name, fault)
			}
		}
		return w, len(w.In) > 0
	}
	text, given := q.text(f.name)
	if !given {
		return w, false
	}
	fault := f.single(&w, text, zone)
	if fault != "" {
		faults.Add(f.name, fault)
	}
	return w, fault == ""
}

// value is one of a filter's alternatives.
func (f filter) value(text string) (v any, sentence2 string) {
	if f.sort == byText {
		if strings.IndexByte(text, 0) >= 0 {
			return nil, fault.NUL
		}
		return text, ""
	}
	if f.sort == byIDOrNull && text == "null" {
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
func (f filter) single(w *kv.Where, text string, zone *time.Location) (sentence2 string) {
	if f.sort == byBool {
		b, ok := value.ParseBool(text)
		if !ok {
			return fault.NotBool
		}
		w.In = []any{b}
		return ""
	}
	t, ok := moment(text, f.sort == byEnd, zone)
	switch {
	case !ok:
		return fault.FilterTime
	case f.sort == byEnd:
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
