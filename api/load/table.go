package load

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"doorward/kv/record"
)

// faultBlank refuses a blank code: one made here would be another at every further import of the file.
const faultBlank = "This field may not be blank."

// table is a file of rows and columns. next answers io.EOF after the last row.
type table interface {
	next() (cells, error)
}

// tableDrafts reads drafts from a table whose columns are laid out.
type tableDrafts struct {
	rows  table
	ly    *layout
	cells cellReader
	over  []int // columns that said something else than one of the same title before them
}

// ignored names the columns that were not read, also where that holds for some of the rows.
func (t *tableDrafts) ignored() []string {
	names := slices.Clone(t.ly.ignored)
	slices.Sort(t.over)
	for _, c := range t.over {
		names = append(names, t.ly.nth(c))
	}
	return names
}

// passOver notes the columns of a field that say something else than the cell that counts.
func (t *tableDrafts) passOver(columns []int, cell string, texts []string) {
	for _, c := range columns {
		if _, other := first([]int{c}, texts); other != "" && other != cell && !slices.Contains(t.over, c) {
			t.over = append(t.over, c)
		}
	}
}

func (t *tableDrafts) next() (draft, *Rejection, error) {
	row, err := t.rows.next()
	if err != nil {
		return draft{}, nil, err
	}
	d, r := t.read(row)
	return d, r, nil
}

func (t *tableDrafts) read(row cells) (draft, *Rejection) {
	d := draft{line: row.line, form: t.ly.form, column: t.ly.title}
	if row.fault != "" {
		return d, &Rejection{row.line, t.ly.column(row.at), row.fault}
	}
	if at, fault := t.stray(row.texts); fault != "" {
		return d, &Rejection{row.line, t.ly.column(at), fault}
	}
	d.body = append(make([]byte, 0, 256), '{')
	for i := range t.ly.feeds {
		if r := t.feed(&d, row, &t.ly.feeds[i]); r != nil {
			return d, r
		}
	}
	if len(t.ly.flags) > 0 {
		if r := t.flag(&d, row); r != nil {
			return d, r
		}
	}
	d.body = append(d.body, '}')
	return d, nil
}

// stray tells rows that hold no record: the header once more, and a line of totals.
func (t *tableDrafts) stray(texts []string) (at int, fault string) {
	filled, titled := 0, 0
	for i, cell := range texts {
		if cell = strings.TrimSpace(cell); cell == "" {
			continue
		}
		filled++
		if i < len(t.ly.titles) && cell == t.ly.titles[i] {
			titled++
		}
	}
	if titled > 0 && titled == filled && (titled > 1 || len(t.ly.titles) == 1) {
		return t.ly.feeds[0].columns[0], "the header once more"
	}
	if filled > 2 || len(t.ly.titles) <= filled {
		return 0, ""
	}
	if at := slices.IndexFunc(texts, isTotal); at >= 0 && !slices.ContainsFunc(slices.Delete(slices.Clone(texts), at, at+1), isWord) {
		return at, "a line of totals"
	}
	return 0, ""
}

func isTotal(cell string) bool {
	p := plain(cell)
	return p == "total" || strings.HasPrefix(p, "total ") || strings.HasPrefix(p, "subtotal")
}

func isWord(cell string) bool { return strings.ContainsFunc(cell, unicode.IsLetter) }

// feed puts one field's value into the draft.
func (t *tableDrafts) feed(d *draft, row cells, feed *feed) *Rejection {
	if feed.name == nameState && len(t.ly.flags) > 0 {
		return nil // flag reads it
	}
	at, cell := first(feed.columns, row.texts)
	if feed.name == nameID {
		d.id = cell
		return nil
	}
	if feed.joined {
		cell = joined(feed.columns, row.texts)
	} else if len(feed.columns) > 1 {
		t.passOver(feed.columns, cell, row.texts)
	}
	if cell == "" && feed.name == nameCode && d.form.kind == record.Ticket {
		return &Rejection{row.line, t.ly.column(at), faultBlank}
	}
	v, fault := t.cells.value(feed.name, d.form.field(feed.name), cell)
	switch {
	case fault != "":
		return &Rejection{row.line, t.ly.column(at), fault}
	case v != nil:
		d.event = d.event || feed.name == nameEvent
		d.body = appendMember(d.body, feed.name, v)
	}
	return nil
}

// flag puts a ticket's state into the draft: the worst that its state column and its yes/no columns say. A blank cell says
// nothing.
func (t *tableDrafts) flag(d *draft, row cells) *Rejection {
	worst := -1
	for _, f := range t.ly.feeds {
		if f.name != nameState {
			continue
		}
		at, cell := first(f.columns, row.texts)
		v, fault := t.cells.value(nameState, d.form.field(nameState), cell)
		if v == nil && fault == "" {
			continue
		}
		if worst = slices.Index(severity, strings.Trim(string(v), `"`)); worst < 0 {
			return &Rejection{row.line, t.ly.column(at), cmp.Or(fault, "Is not a valid choice: valid, cancelled, refunded, unpaid, blocked, or a usual word for one of them.")}
		}
	}
	for _, f := range t.ly.flags {
		at, cell := first([]int{f.column}, row.texts)
		if cell == "" {
			continue
		}
		said, isState := choices[nameState][plain(cell)]
		switch yes := truths[plain(cell)]; {
		case yes == f.when:
			worst = max(worst, slices.Index(severity, f.state))
		case yes != "":
			worst = max(worst, 0)
		case isState:
			worst = max(worst, slices.Index(severity, said))
		default:
			return &Rejection{row.line, t.ly.column(at), "neither yes nor no"}
		}
	}
	if worst >= 0 {
		d.body = appendMember(d.body, nameState, record.Quote(severity[worst]))
	}
	return nil
}

func joined(columns []int, texts []string) string {
	var parts []string
	for _, c := range columns {
		if _, cell := first([]int{c}, texts); cell != "" {
			parts = append(parts, cell)
		}
	}
	return strings.Join(parts, " ")
}

// first is the first of some columns whose cell is not blank.
func first(columns []int, texts []string) (at int, cell string) {
	for _, c := range columns {
		if c < len(texts) {
			if s := strings.TrimSpace(texts[c]); s != "" {
				return c, s
			}
		}
	}
	return columns[0], ""
}
