package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"doorward/api/load"
	"doorward/kv/fault"
)

// importAnswer is a report of an import as the handler answers it.
type importAnswer struct {
	Created, Updated, Unchanged int64
	Rejected                    []load.Rejection
	More                        int64 `json:"rejected_more"`
	Reasons                     []load.Reason
	Ignored                     []string `json:"ignored_columns"`
	Warnings                    []string
	Source                      string
	Columns                     []load.Column
	States                      map[string]int64
	Types                       []load.Type
	LeftOut                     int64        `json:"left_out"`
	Entered                     int64        `json:"checked_in"`
	Admitted                    int64        `json:"admitted"`
	LooksLike                   []load.Alike `json:"looks_like"`
	MoreAlike                   int64        `json:"looks_like_more"`
}

func readImportAnswer(answer json.RawMessage) (rep importAnswer, err error) {
	if err := json.Unmarshal(answer, &rep); err != nil {
		return rep, fmt.Errorf("the server's answer: %w", err)
	}
	return rep, nil
}

func (r *importAnswer) refused() int64 { return int64(len(r.Rejected)) + r.More }

// plan shows how a file is read and what would become of its rows, before any is written.
func (r *importAnswer) plan(w io.Writer, file string) {
	source := "no system that is known; columns are chosen by their titles and values"
	if r.Source != "" {
		source = "an export of " + r.Source
	}
	fmt.Fprintf(w, "%s: %s\n\n", file, source)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "COLUMN\tFIELD\tWHY\tSAMPLES\n")
	for _, c := range r.Columns {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", c.Column, c.Field, c.Why, strings.Join(c.Samples, " | "))
	}
	_ = t.Flush() // as every other line to the terminal
	if len(r.Ignored) > 0 {
		fmt.Fprintf(w, "\nnot read: %s\n", fault.Listed(r.Ignored))
	}
	r.planTickets(w)
	for _, one := range r.Reasons {
		fmt.Fprintf(w, "refused: %s %s: %s (%s)\n", number(int64(one.Count)), plural(one.Count, "row", "rows"), one.Reason, where(one))
	}
	for _, one := range r.LooksLike {
		fmt.Fprintf(w, "line %d looks like %s, by %s; it would be added as somebody else\n", one.Line, one.ID, one.By)
	}
	if r.MoreAlike > 0 {
		fmt.Fprintf(w, "and %s more look like somebody\n", number(r.MoreAlike))
	}
	for _, note := range r.Warnings {
		fmt.Fprintf(w, "note: %s\n", note)
	}
	fmt.Fprintf(w, "\nto be created %s, changed %s, left as they are %s, refused %s\n", number(r.Created), number(r.Updated), number(r.Unchanged), number(r.refused()))
}

// planTickets shows the tickets by state and by type.
func (r *importAnswer) planTickets(w io.Writer) {
	if len(r.States) > 0 {
		var states []string
		for _, state := range slices.Sorted(maps.Keys(r.States)) {
			states = append(states, number(r.States[state])+" "+state)
		}
		said := ""
		if !slices.ContainsFunc(r.Columns, func(c load.Column) bool { return c.Field == "state" }) {
			said = " (no column says it)"
		}
		fmt.Fprintf(w, "\ntickets: %s%s\n", strings.Join(states, ", "), said)
	}
	for _, one := range r.Types {
		left := ""
		if one.Left {
			left = ", left out"
		}
		fmt.Fprintf(w, "type %s: %s, %s with a name%s\n", one.Name, number(int64(one.Count)), number(int64(one.Named)), left)
	}
}

func where(one load.Reason) string {
	var lines []string
	for _, n := range one.Lines {
		lines = append(lines, strconv.Itoa(n))
	}
	text := plural(len(lines), "line ", "lines ") + strings.Join(lines, ", ")
	if one.Count > len(lines) {
		text += " …"
	}
	if one.Column != "" {
		text = "column " + one.Column + ", " + text
	}
	return text
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
