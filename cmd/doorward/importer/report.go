package importer

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"doorward/api/load"
	"doorward/cmd/doorward/console"
	"doorward/kv/fault"
)

// Report is the answer of the control handler to an import.
type Report load.Report

func (r *Report) refused() int { return len(r.Rejected) + r.More }

// Print prints what became of the rows. It leaves out the notes that were shown before.
func (r *Report) Print(w io.Writer, shown []string) {
	fmt.Fprintf(w, "created %s, updated %s, unchanged %s, rejected %s\n",
		console.Number(r.Created), console.Number(r.Updated), console.Number(r.Unchanged), console.Number(r.refused()))
	if r.LeftOut > 0 {
		fmt.Fprintf(w, "left out %s of other types\n", console.Number(r.LeftOut))
	}
	if r.Admitted > 0 {
		fmt.Fprintf(w, "checked in %s\n", console.Number(r.Admitted))
	}
	for _, one := range r.Rejected {
		column := ""
		if one.Column != "" {
			column = ", column " + one.Column
		}
		fmt.Fprintf(w, "line %d%s: %s\n", one.Line, column, one.Reason)
	}
	if r.More > 0 {
		fmt.Fprintf(w, "and %s further rows\n", console.Number(r.More))
	}
	if len(r.Ignored) > 0 {
		fmt.Fprintf(w, "columns that were not read: %s\n", fault.Listed(r.Ignored))
	}
	for _, note := range r.Warnings {
		if !slices.Contains(shown, note) {
			fmt.Fprintf(w, "note: %s\n", note)
		}
	}
}

// PrintPlan prints how the file is read and what becomes of its rows, before one is written.
func (r *Report) PrintPlan(w io.Writer, file string) {
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
	r.printTickets(w)
	for _, one := range r.Reasons {
		fmt.Fprintf(w, "refused: %s %s: %s (%s)\n", console.Number(one.Count), console.Plural(one.Count, "row", "rows"), one.Reason, where(one))
	}
	for _, one := range r.LooksLike {
		fmt.Fprintf(w, "line %d looks like %s, by %s; it would be added as somebody else\n", one.Line, one.ID, one.By)
	}
	if r.MoreAlike > 0 {
		fmt.Fprintf(w, "and %s more look like somebody\n", console.Number(r.MoreAlike))
	}
	for _, note := range r.Warnings {
		fmt.Fprintf(w, "note: %s\n", note)
	}
	fmt.Fprintf(w, "\nto be created %s, changed %s, left as they are %s, refused %s\n", console.Number(r.Created), console.Number(r.Updated), console.Number(r.Unchanged), console.Number(r.refused()))
}

// printTickets prints the tickets by state and by type.
func (r *Report) printTickets(w io.Writer) {
	if len(r.States) > 0 {
		var states []string
		for _, state := range slices.Sorted(maps.Keys(r.States)) {
			states = append(states, console.Number(r.States[state])+" "+state)
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
		fmt.Fprintf(w, "type %s: %s, %s with a name%s\n", one.Name, console.Number(one.Count), console.Number(one.Named), left)
	}
}

func where(one load.Reason) string {
	var lines []string
	for _, n := range one.Lines {
		lines = append(lines, strconv.Itoa(n))
	}
	text := console.Plural(len(lines), "line ", "lines ") + strings.Join(lines, ", ")
	if one.Count > len(lines) {
		text += " …"
	}
	if one.Column != "" {
		text = "column " + one.Column + ", " + text
	}
	return text
}
