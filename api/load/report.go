package load

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"doorward/api/load/kinds"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv/desk"
	"doorward/kv/fault"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
)

// The reasons to refuse a whole import, before it writes any row.
var (
	ErrUsage  = kinds.ErrUsage // the kind, the event or the map cannot be meant
	ErrSource = sheet.ErrFile  // its content is at fault
)

// Rejection is one row that was not written: its line from 1, the column at fault by its title in the file, and why. The
// reason repeats nothing that the row holds.
type Rejection struct {
	Line   int    `json:"line"`
	Column string `json:"column"`
	Reason string `json:"reason"`
}

// Report is the result of an import or of a dry run, and how the file was read: the wire form of design.md §6.
type Report struct {
	Created   int            `json:"created"`
	Updated   int            `json:"updated"`
	Unchanged int            `json:"unchanged"`
	Rejected  []Rejection    `json:"rejected"`                // by line; the first 10,000
	More      int            `json:"rejected_more,omitempty"` // rows that were rejected beyond those
	Reasons   []Reason       `json:"reasons,omitempty"`       // of all of them, each once
	Ignored   []string       `json:"ignored_columns,omitempty"`
	Warnings  []string       `json:"warnings,omitempty"`
	Source    string         `json:"source,omitempty"`  // the system that wrote the file; "" = none that is known
	Columns   []Column       `json:"columns,omitempty"` // of a table
	States    map[string]int `json:"states,omitempty"`
	Types     []Type         `json:"types,omitempty"`      // of tickets, where they were counted
	LeftOut   int            `json:"left_out,omitempty"`   // rows of types that were not wanted
	Entered   int            `json:"checked_in,omitempty"` // tickets that the file says were used
	Admitted  int            `json:"admitted,omitempty"`   // of these, those that were checked in
	LooksLike []Alike        `json:"looks_like,omitempty"`
	MoreAlike int            `json:"looks_like_more,omitempty"`
}

// Column is one field of a table, and the column that gives it.
type Column struct {
	Field   string   `json:"field"`
	Column  string   `json:"column"`
	Why     string   `json:"why"`
	Samples []string `json:"samples"`
}

// Reason is a reason for refusals, with their number and first lines.
type Reason struct {
	Column string `json:"column"`
	Reason string `json:"reason"`
	Count  int    `json:"count"`
	Lines  []int  `json:"lines"`
}

// Alike is a new person that looks like a person in the store.
type Alike struct {
	Line int    `json:"line"`
	ID   string `json:"id"`
	By   string `json:"by"`
}

// maxRejected is how many rejections are listed: a file that is wrong as a whole must not fill the memory.
const (
	maxRejected = 10_000
	maxReasons  = 100
	maxLines    = 3
	maxAlike    = 100
)

// reject notes a row that was not written.
func (r *Report) reject(why Rejection) {
	r.because(why)
	if len(r.Rejected) == maxRejected {
		r.More++
		return
	}
	r.Rejected = append(r.Rejected, why)
}

// because counts a reason.
func (r *Report) because(why Rejection) {
	for i := range r.Reasons {
		if one := &r.Reasons[i]; one.Reason == why.Reason && one.Column == why.Column {
			if one.Count++; len(one.Lines) < maxLines {
				one.Lines = append(one.Lines, why.Line)
			}
			return
		}
	}
	if len(r.Reasons) < maxReasons {
		r.Reasons = append(r.Reasons, Reason{why.Column, why.Reason, 1, []int{why.Line}})
	}
}

// alike notes a new person that looks like a person in the store.
func (r *Report) alike(one Alike) {
	if len(r.LooksLike) == maxAlike {
		r.MoreAlike++
		return
	}
	r.LooksLike = append(r.LooksLike, one)
}

// MarshalJSON writes an empty list of rejections as a list, also where package json of the standard library is used.
func (r Report) MarshalJSON() ([]byte, error) {
	type shape Report
	if r.Rejected == nil {
		r.Rejected = []Rejection{}
	}
	return json.Marshal(shape(r))
}

// count notes the fate of one row.
func (r *Report) count(f desk.Fate) {
	switch f {
	case desk.Created:
		r.Created++
	case desk.Updated:
		r.Updated++
	case desk.Unchanged:
		r.Unchanged++
	}
}

// note counts the state and the check-in of a row that was taken.
func (r *Report) note(it *item) {
	if it.form.Kind == record.Ticket {
		if r.States == nil {
			r.States = map[string]int{}
		}
		r.States[cmp.Or(it.row.Patch.Text(kinds.State), words.Severity[0])]++
	}
	if it.entered {
		r.Entered++
	}
	if it.checkin == outcome.Admitted {
		r.Admitted++
	}
}

// quoted matches a value that a fault's sentence repeats.
var quoted = regexp.MustCompile(`\s*["“][^"”]*["”]\s*`)

// reason returns a fault's sentence without the values that it repeats. Where it began with one, the column stands before it instead.
func reason(text string) string {
	cut := strings.TrimSpace(quoted.ReplaceAllString(text, " "))
	switch {
	case cut == "":
		return "Not accepted."
	case strings.HasPrefix(strings.TrimSpace(text), `"`):
		return cut
	}
	text = cut
	return strings.ToUpper(text[:1]) + text[1:]
}

// rejection returns why the store, or the kind's table, refused a row.
func rejection(d draft, err error) Rejection {
	var faults fault.ByField
	var conflict *table.Conflict
	switch {
	case errors.As(err, &faults):
		return ofFaults(d.line, faults, d.column)
	case errors.As(err, &conflict) && conflict.Field == kinds.State: // the only one: the row lets a ticket in that is kept out here
		return Rejection{Line: d.line, Column: d.column(kinds.State), Reason: conflict.Reason + ": change it here, or say --reinstate to let the file decide"}
	case errors.As(err, &conflict) && conflict.Field == kinds.ExternalID && d.form.Kind == record.Person:
		column := d.column(conflict.Field)
		return Rejection{Line: d.line, Column: column, Reason: fmt.Sprintf("%s; --ignore '%s' if the ids are of another system or church", reason(conflict.Reason), column)}
	case errors.As(err, &conflict):
		return Rejection{Line: d.line, Column: d.column(conflict.Field), Reason: reason(conflict.Reason)}
	}
	return Rejection{Line: d.line, Reason: reason(err.Error())}
}

// ofFaults reports a row's first fault in full and names the columns of the others.
func ofFaults(line int, faults fault.ByField, column func(string) string) Rejection {
	fields := slices.Sorted(maps.Keys(faults))
	faults = faults.Cut()
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

// Refusal returns why the store, or a kind's table, refused a record: the field at fault and a reason. The reason repeats nothing that the
// record holds.
func Refusal(err error) Rejection {
	return rejection(draft{column: sameName}, err)
}
