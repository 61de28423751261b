package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"doorward/kv"
	"doorward/kv/record"
)

// What an import can be refused for as a whole, before any row is written.
var (
	ErrUsage  = errors.New("wrong usage")                // the kind, the event or the map cannot be meant
	ErrSource = errors.New("the file cannot be read so") // its content is at fault
)

// Rejection is one row that was not written: its line from 1, the column at fault by its title in the file, and why. The
// reason repeats nothing that the row holds.
type Rejection struct {
	Line   int    `json:"line"`
	Column string `json:"column"`
	Reason string `json:"reason"`
}

// Report is what became of a file's rows.
type Report struct {
	Created   int
	Updated   int
	Unchanged int
	Rejected  []Rejection // by line; the first 10,000
	More      int         // rows that were rejected beyond those
	Ignored   []string    // columns that were not read
	Warnings  []string
}

// maxRejected is how many rejections are listed: a file that is wrong as a whole must not fill the memory.
const maxRejected = 10_000

// reject notes a row that was not written.
func (r *Report) reject(why Rejection) {
	if len(r.Rejected) == maxRejected {
		r.More++
		return
	}
	r.Rejected = append(r.Rejected, why)
}

// MarshalJSON writes the shape of design.md §6; what is beyond the list, ignored columns and warnings only where there are any.
func (r Report) MarshalJSON() ([]byte, error) {
	if r.Rejected == nil {
		r.Rejected = []Rejection{}
	}
	return json.Marshal(struct {
		Created   int         `json:"created"`
		Updated   int         `json:"updated"`
		Unchanged int         `json:"unchanged"`
		Rejected  []Rejection `json:"rejected"`
		More      int         `json:"rejected_more,omitempty"`
		Ignored   []string    `json:"ignored_columns,omitempty"`
		Warnings  []string    `json:"warnings,omitempty"`
	}{r.Created, r.Updated, r.Unchanged, r.Rejected, r.More, r.Ignored, r.Warnings})
}

// count notes the fate of one row.
func (r *Report) count(f kv.Fate) {
	switch f {
	case kv.Created:
		r.Created++
	case kv.Updated:
		r.Updated++
	case kv.Unchanged:
		r.Unchanged++
	}
}

// quoted are values that a fault's sentence repeats.
var quoted = regexp.MustCompile(`\s*["“][^"”]*["”]\s*`)

// reason is a fault's sentence without the values that it repeats.
func reason(text string) string {
	text = strings.TrimSpace(quoted.ReplaceAllString(text, " "))
	if text == "" {
		return "Not accepted."
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// rejection tells why the store, or the kind's table, refused a row. column names a field's column.
func rejection(it *item, err error) Rejection {
	var faults record.Faults
	var conflict *kv.Conflict
	switch {
	case errors.As(err, &faults):
		return ofFaults(it.line, faults, it.column)
	case errors.As(err, &conflict):
		return Rejection{Line: it.line, Column: it.column(conflict.Field), Reason: reason(conflict.Reason)}
	}
	return Rejection{Line: it.line, Reason: reason(err.Error())}
}

// ofFaults reports a row's first fault in full and names the columns of the others.
func ofFaults(line int, faults record.Faults, column func(string) string) Rejection {
	fields := make([]string, 0, len(faults))
	for f := range faults {
		fields = append(fields, f)
	}
	slices.Sort(fields)
	r := Rejection{Line: line}
	for i, f := range fields {
		if i == 0 {
			r.Column, r.Reason = column(f), reason(strings.Join(faults[f], " "))
			continue
		}
		r.Reason += fmt.Sprintf(" %s: %s", column(f), reason(strings.Join(faults[f], " ")))
	}
	return r
}
