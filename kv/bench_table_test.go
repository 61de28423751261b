package kv_test

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// pair is what the two sides of a comparison measured one after the other.
type pair struct{ ours, base float64 }

func (p pair) ratio() float64 { return p.ours / p.base }

// sideBySide runs both sides in turns, in rounds too short for the machine's mood to change between them. The first round
// warms up and does not count; who goes first alternates.
func sideBySide(ours, base func() float64) []pair {
	pairs := make([]pair, 0, benchRounds)
	for i := range benchRounds + 1 {
		var p pair
		if i%2 == 0 {
			p.ours, p.base = ours(), base()
		} else {
			p.base, p.ours = base(), ours()
		}
		if i > 0 {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// line is one row of the table. Without a target it only tells.
type line struct {
	name    string
	unit    string
	pairs   []pair // base 0: a bare figure
	atLeast float64
	atMost  float64
	bare    bool // the target is about ours, not about the ratio
}

// median of what f says of each pair.
func (l *line) median(f func(pair) float64) float64 {
	v := l.values(f)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func (l *line) values(f func(pair) float64) []float64 {
	v := make([]float64, len(l.pairs))
	for i, p := range l.pairs {
		v[i] = f(p)
	}
	slices.Sort(v)
	return v
}

func (l *line) judged() func(pair) float64 {
	if l.bare {
		return func(p pair) float64 { return p.ours }
	}
	return pair.ratio
}

// missed tells whether the median misses the target.
func (l *line) missed() bool {
	got := l.median(l.judged())
	return l.atLeast > 0 && got < l.atLeast || l.atMost > 0 && got > l.atMost
}

func (l *line) target() string {
	unit := ""
	if l.bare {
		unit = l.unit
	}
	switch {
	case l.atLeast > 0:
		return "≥ " + figure(l.atLeast) + unit
	case l.atMost > 0:
		return "≤ " + figure(l.atMost) + unit
	}
	return ""
}

func (l *line) verdict() string {
	switch {
	case l.target() == "":
		return ""
	case l.missed():
		return "MISSED"
	}
	return "ok"
}

// figure writes a number with three digits that count.
func figure(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// sheet collects the lines and prints them.
type sheet struct{ lines []line }

func (t *sheet) add(l line) { t.lines = append(t.lines, l) }

// tell adds a figure that is only told.
func (t *sheet) tell(name, unit string, v float64) {
	t.add(line{name: name, unit: unit, pairs: []pair{{ours: v}}})
}

func (t *sheet) missed() (names []string) {
	for _, l := range t.lines {
		if l.missed() {
			names = append(names, l.name)
		}
	}
	return names
}

func (t *sheet) String() string {
	var s strings.Builder
	w := tabwriter.NewWriter(&s, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\twhat\tours\tbaseline\tratio\tmin..max\ttarget\t")
	for _, l := range t.lines {
		ours := figure(l.median(func(p pair) float64 { return p.ours })) + l.unit
		base, ratio, span := "", "", ""
		if l.pairs[0].base > 0 {
			v := l.values(pair.ratio)
			base = figure(l.median(func(p pair) float64 { return p.base })) + l.unit
			ratio, span = fmt.Sprintf("%.2f", l.median(pair.ratio)), fmt.Sprintf("%.2f..%.2f", v[0], v[len(v)-1])
		}
		fmt.Fprintf(w, "\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.name, ours, base, ratio, span, l.target(), l.verdict())
	}
	_ = w.Flush() // a Builder takes everything
	return s.String()
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
