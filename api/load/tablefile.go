package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"doorward/kv/fault"
	"doorward/kv/record"
)

// tableFile is a table whose columns are chosen.
type tableFile struct {
	ctx      context.Context
	ly       *layout
	src      *Source
	only     []string // the types that are taken, in plain form; nil = all
	types    []Type
	rows     int
	headings []heading
	test     int // tickets of a trial that were left out
	cells    cellReader
	twice    contradictions
	known    *churches                       // nil = no column names churches
	start    func(ly *layout) (table, error) // opens the rows below the header
	end      func() error
}

// newTableFile reads a table through, chooses its columns by their titles and their values, and asks about what it does not
// understand.
func newTableFile(ctx context.Context, src *Source, ly *layout, start func(ly *layout) (table, error)) (*tableFile, error) {
	t := &tableFile{ctx: ctx, ly: ly, src: src, headings: ly.headings, start: start, end: func() error { return nil }}
	if len(ly.titles) > maxColumns {
		return nil, tooWide(ly.line, len(ly.titles))
	}
	p := newProfiler(len(ly.titles), func(i int) bool { return slices.Contains(words(nameCode), plainTitle(ly.titles[i])) })
	err := t.each(func(row cells) { p.add(row.texts) })
	if err != nil {
		return nil, err
	}
	for i := range p.columns {
		t.rows = max(t.rows, p.columns[i].rows)
	}
	t.ly = lay(ly.header, ly.form, src, p.columns)
	if err := t.ly.check(src); err != nil {
		return nil, err
	}
	for _, step := range []func() error{t.checkHeadings, t.chooseTypes, t.contradict} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	t.cells = cellReader{own: t.ly.origin == ownOrigin, states: src.States, orders: t.ly.orders, utc: t.ly.origin.utc}
	return t, nil
}

// each calls fn with every row that holds a record.
func (t *tableFile) each(fn func(row cells)) (err error) {
	rows, err := t.start(t.ly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.close()) }()
	for {
		row, err := rows.next()
		switch {
		case t.ctx.Err() != nil:
			return context.Cause(t.ctx)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if h, ok := headingOf(row); ok && t.ly.profiles == nil {
			t.headings = append(t.headings, h)
		}
		if row.fault != "" {
			continue
		}
		if _, fault := t.ly.stray(row.texts); fault == "" {
			fn(row)
		}
	}
}

func (t *tableFile) drafts() (drafts, error) {
	rows, err := t.start(t.ly)
	if err != nil {
		return nil, err
	}
	d := &tableDrafts{rows: rows, ly: t.ly, only: t.only, twice: t.twice, cells: t.cells, known: t.known, zone: t.src.zone}
	d.cells.words = map[string]string{}
	return d, nil
}

func (t *tableFile) close() error { return t.end() }

// Type is a type of tickets in a list: how many there are, and how many of them name their holder.
type Type struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
	Named int    `json:"named"`
	Left  bool   `json:"left_out,omitempty"`
}

// chooseTypes counts the types of tickets, and asks which are meant where some are hardly admissions: in a shop's list a T-shirt
// is a position like any other, but nobody is named on it, or its name says so. Where all are goods, as at a dinner, nothing is asked.
func (t *tableFile) chooseTypes() error {
	if !t.ly.fed(nameType) {
		if len(t.src.OnlyTypes) > 0 {
			return fmt.Errorf("%w: --only-type: the list has no column for the type; --map 'type=…' names it", ErrUsage)
		}
		return nil
	}
	if !t.ly.origin.types && len(t.src.OnlyTypes) == 0 && !t.mayHoldGoods() {
		return nil
	}
	if err := t.countTypes(); err != nil {
		return err
	}
	var names []string
	for _, one := range t.types {
		names = append(names, one.Name)
	}
	for _, only := range typeNames(t.src.OnlyTypes, names) {
		if !slices.ContainsFunc(names, func(n string) bool { return plain(n) == plain(only) }) {
			return fmt.Errorf("%w: --only-type %s: the list has no such type%s; it has %s", ErrUsage, only, didYouMean(only, names), fault.Listed(names))
		}
		t.only = append(t.only, plain(only))
	}
	if t.only == nil {
		return t.askForTypes()
	}
	for i := range t.types {
		t.types[i].Left = !slices.Contains(t.only, plain(t.types[i].Name))
	}
	return nil
}

// mayHoldGoods tells a list in which some rows name nobody, or a type is called as goods are.
func (t *tableFile) mayHoldGoods() bool {
	for _, f := range t.ly.feeds {
		if len(f.parts) != 1 || len(f.parts[0]) != 1 {
			continue
		}
		p := &t.ly.profiles[f.parts[0][0]]
		if f.name == nameHolder && p.filled < p.rows || f.name == nameType && p.share(isGoods) > 0 {
			return true
		}
	}
	return false
}

func isGoods(name string) bool { return hasWord(plain(name), goods) }

// typeNames are the types that --only-type names, each by itself or several between commas.
func typeNames(flags, known []string) (out []string) {
	for _, flag := range flags {
		if slices.ContainsFunc(known, func(n string) bool { return plain(n) == plain(flag) }) {
			out = append(out, flag)
			continue
		}
		for one := range strings.SplitSeq(flag, ",") {
			out = append(out, strings.TrimSpace(one))
		}
	}
	return out
}

func (t *tableFile) countTypes() error {
	at := map[string]int{}
	return t.each(func(row cells) {
		name := t.ly.cell(nameType, row.texts)
		i, ok := at[name]
		if !ok {
			if len(t.types) == maxDistinct {
				return
			}
			i = len(t.types)
			at[name], t.types = i, append(t.types, Type{Name: name})
		}
		t.types[i].Count++
		if t.ly.cell(nameHolder, row.texts) != "" {
			t.types[i].Named++
		}
	})
}

func (t *tableFile) askForTypes() error {
	var named, others []string
	var values []Value
	names := slices.ContainsFunc(t.types, func(one Type) bool { return one.Named > 0 })
	for _, one := range t.types {
		if (one.Named > 0 || !names) && !isGoods(one.Name) {
			named = append(named, one.Name)
			continue
		}
		others = append(others, one.Name)
		values = append(values, Value{one.Name, one.Count})
	}
	if len(named) == 0 || len(others) == 0 {
		return nil
	}
	return Questions{{
		Column: t.ly.title(nameType), Text: "has products on which nobody is named, or that are called as goods are: they may be no admissions", Values: values,
		Flags: []string{
			fmt.Sprintf("--only-type '%s' to leave them out", strings.Join(named, ",")),
			fmt.Sprintf("--only-type '%s' to let them in", strings.Join(append(named, others...), ",")),
		},
	}}
}

// mayBeAlike tells a list of people by which somebody may be recognised.
func (t *tableFile) mayBeAlike() bool {
	return t.ly.form.kind == record.Person && (t.ly.fed(nameEmail) || t.ly.fed(nameBirthday))
}

// plan says how the table is read.
func (t *tableFile) plan(rep *Report) {
	if t.ly.origin != nothing {
		rep.Source = t.ly.origin.name
	}
	for _, f := range t.ly.feeds {
		rep.Columns = append(rep.Columns, t.column(f.name, f.why, f.parts))
	}
	for _, d := range t.ly.deciders {
		why := "its words are states"
		if d.state != "" {
			why = "yes or no: " + d.state
		}
		rep.Columns = append(rep.Columns, t.column(nameState, why, [][]int{{d.column}}))
		t.unknownWords(d, rep)
	}
	for _, i := range t.ly.checkins {
		rep.Columns = append(rep.Columns, t.column(nameCheckin, "its title", [][]int{{i}}))
	}
	if _, all := t.src.States[""]; t.sells() && len(t.ly.deciders) == 0 && !all {
		rep.Warnings = append(rep.Warnings, "this list leaves out who has paid and who has cancelled: every ticket is taken as valid; export it again with that column, or say --states '=unpaid'")
	}
	rep.Types = t.types
	for _, one := range t.types {
		if one.Left && t.only == nil {
			rep.LeftOut += one.Count
		}
	}
	if t.known != nil {
		t.known.unknown(t, rep)
	}
	if t.rows == 0 {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf("below the header in line %d there is no row", t.ly.line))
	}
	if t.test > 0 {
		rep.Warnings = append(rep.Warnings, counted(t.test, "ticket of a test order was", "tickets of test orders were")+" left out")
	}
	if rep.Entered > 0 && !t.src.Checkins {
		rep.Warnings = append(rep.Warnings, counted(rep.Entered, "ticket was", "tickets were")+
			" used already, as the file says; --checkins writes that down, else they can be used once more")
	}
}

// sells tells the list of a shop, which knows who has paid.
func (t *tableFile) sells() bool {
	return t.ly.form.kind == record.Ticket && t.ly.origin != nothing && t.ly.origin != ownOrigin
}

func (t *tableFile) column(field, why string, parts [][]int) Column {
	var titles, samples, firsts []string
	for _, columns := range parts {
		var either []string
		samples = nil
		for _, i := range columns {
			either = append(either, t.ly.nth(i))
			samples = append(samples, t.ly.profiles[i].samples...)
		}
		titles = append(titles, strings.Join(either, " or "))
		if len(samples) > 0 {
			firsts = append(firsts, samples[0])
		}
	}
	if len(parts) > 1 {
		samples = []string{strings.Join(firsts, " + ")}
	}
	return Column{Field: field, Column: strings.Join(titles, " + "), Why: why, Samples: samples[:min(len(samples), maxSamples)]}
}

// unknownWords names the words of a state that are not known: their rows are refused.
func (t *tableFile) unknownWords(d decider, rep *Report) {
	for _, v := range t.ly.profiles[d.column].values() {
		if d.means(v.Value, t.src.States) < 0 && plain(v.Value) != "" && len(rep.Warnings) < maxAsked {
			rep.Warnings = append(rep.Warnings, fmt.Sprintf("“%s” in the column “%s” (%s) is no state that is known: --states '%s=…' says what it means",
				sample(v.Value), t.ly.nth(d.column), counted(v.Count, "row", "rows"), v.Value))
		}
	}
}

// report adds what was found on the way.
func (t *tableDrafts) report(rep *Report) {
	rep.LeftOut = t.left
	if t.cells.yearless > 0 {
		rep.Warnings = append(rep.Warnings, counted(t.cells.yearless, "date has no year and was", "dates have no year and were")+" left out")
	}
}
