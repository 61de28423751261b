package sync_test

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// benchLine is one row of the table.
type benchLine struct {
	name       string
	unit       string
	ours, base float64 // base 0: nothing to compare with
	wanted     bound
}

// bound is what a figure must keep to; where several are given, one is enough. The zero bound is kept by anything.
type bound struct {
	least, most float64 // ours
	ratio       float64 // ours to base
}

func (l *benchLine) missed() bool {
	w := l.wanted
	kept := w == bound{} || w.least > 0 && l.ours >= w.least || w.most > 0 && l.ours <= w.most || w.ratio > 0 && l.ours >= w.ratio*l.base
	return !kept
}

func (l *benchLine) target() string {
	var all []string
	if w := l.wanted.least; w > 0 {
		all = append(all, "≥ "+figure(w))
	}
	if w := l.wanted.most; w > 0 {
		all = append(all, "≤ "+figure(w))
	}
	if w := l.wanted.ratio; w > 0 {
		all = append(all, fmt.Sprintf("%.3g times", w))
	}
	return strings.Join(all, " or ")
}

// figure writes a number with the digits that count.
func figure(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// benchTable prints the lines.
func benchTable(lines []benchLine) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\twhat\tours\tbaseline\tratio\twanted\t")
	for _, l := range lines {
		base, verdict := "\t", ""
		if l.base > 0 {
			base = fmt.Sprintf("%s\t%.2f", figure(l.base), l.ours/l.base)
		}
		switch {
		case l.missed():
			verdict = "MISSED"
		case l.wanted != bound{}:
			verdict = "ok"
		}
		fmt.Fprintf(w, "\t%s\t%s %s\t%s\t%s\t%s\n", l.name, figure(l.ours), l.unit, base, l.target(), verdict)
	}
	_ = w.Flush() // a Builder takes everything
	return text.String()
}
