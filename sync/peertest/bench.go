package peertest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// How much is copied, and how often.
const (
	BenchMany   = 100_000
	BenchRounds = 3
)

// Part is a part of a benchmark.
type Part struct {
	Name string
	Run  func(*testing.T) []Line
}

// Bench runs parts of a benchmark, prints the table, and fails where a target is missed.
func Bench(t *testing.T, parts []Part) {
	t.Helper()
	if os.Getenv("DOORWARD_BENCH") != "1" {
		t.Skip("only with DOORWARD_BENCH=1: make bench")
	}
	var table []Line
	for _, part := range parts {
		t.Run(part.Name, func(t *testing.T) {
			lines := part.Run(t)
			t.Logf("\n%s", Table(lines))
			table = append(table, lines...)
		})
	}
	t.Logf("\n%s", Table(table))
	for _, l := range table {
		if l.missed() {
			t.Errorf("target missed: %s", l.Name)
		}
	}
}

// Rate is how many documents a second a run copies, the best of some rounds. Where DOORWARD_BENCH_PROFILE names a folder, the CPU
// profile of all is written into it.
func Rate(t *testing.T, name string, rounds int, run func() int) (most float64) {
	t.Helper()
	defer Profile(t, name)()
	for range rounds {
		began := time.Now()
		n := run()
		most = max(most, float64(n)/time.Since(began).Seconds())
	}
	return most
}

// Profile writes a CPU profile of a part, if DOORWARD_BENCH_PROFILE names a folder.
func Profile(t *testing.T, name string) (end func()) {
	t.Helper()
	dir := os.Getenv("DOORWARD_BENCH_PROFILE")
	if dir == "" {
		return func() {}
	}
	f, err := os.Create(filepath.Join(dir, strings.ReplaceAll(name, " ", "_")+".cpu"))
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Line is one row of the table.
type Line struct {
	Name       string
	Unit       string
	Ours, Base float64 // base 0: nothing to compare with
	Wanted     Bound
}

// Bound is what a figure must keep to; where several are given, one is enough. The zero bound is kept by anything.
type Bound struct {
	Least, Most float64 // ours
	Ratio       float64 // ours to base
}

func (l *Line) missed() bool {
	w := l.Wanted
	kept := w == Bound{} || w.Least > 0 && l.Ours >= w.Least || w.Most > 0 && l.Ours <= w.Most || w.Ratio > 0 && l.Ours >= w.Ratio*l.Base
	return !kept
}

func (l *Line) target() string {
	var all []string
	if w := l.Wanted.Least; w > 0 {
		all = append(all, "≥ "+figure(w))
	}
	if w := l.Wanted.Most; w > 0 {
		all = append(all, "≤ "+figure(w))
	}
	if w := l.Wanted.Ratio; w > 0 {
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

// Table prints the lines.
func Table(lines []Line) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\twhat\tours\tbaseline\tratio\twanted\t")
	for _, l := range lines {
		base, verdict := "\t", ""
		if l.Base > 0 {
			base = fmt.Sprintf("%s\t%.2f", figure(l.Base), l.Ours/l.Base)
		}
		switch {
		case l.missed():
			verdict = "MISSED"
		case l.Wanted != Bound{}:
			verdict = "ok"
		}
		fmt.Fprintf(w, "\t%s\t%s %s\t%s\t%s\t%s\n", l.Name, figure(l.Ours), l.Unit, base, l.target(), verdict)
	}
	_ = w.Flush() // a Builder takes everything
	return text.String()
}
