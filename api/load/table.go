package load

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"doorward/api/load/cells"
	"doorward/api/load/kinds"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv/record"

	"github.com/go-json-experiment/json/jsontext"
)

// faultBlank refuses a blank code: one made here would be another at every further import of the file.
const faultBlank = "This field may not be blank."

// tableDrafts reads drafts from a table whose columns are laid out.
type tableDrafts struct {
	rows  sheet.Rows
	ly    *layout
	only  []string // the types of tickets that are taken, in plain form; nil = all
	twice contradictions
	cells cells.Reader
	known *churches // nil = no column names churches
	over  []int     // columns that said something else than one before them
	left  int       // rows of other types
	zone  *time.Location
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

func (t *tableDrafts) close() error { return t.rows.Close() }

// passOver notes the columns of a field that say something else than the cell that counts.
func (t *tableDrafts) passOver(columns []int, cell string, texts []string) {
	for _, c := range columns {
		if _, other := first([]int{c}, texts); other != "" && other != cell && !slices.Contains(t.over, c) {
			t.over = append(t.over, c)
		}
	}
}

func (t *tableDrafts) next() (draft, *Rejection, error) {
	for {
		row, err := t.rows.Next()
		if err != nil {
			return draft{}, nil, err
		}
		if row.Fault == "" && t.leaves(row.Texts) {
			t.left++
			continue
		}
		d, r := t.read(row)
		return d, r, nil
	}
}

// leaves tells a row of a type that is not wanted.
func (t *tableDrafts) leaves(texts []string) bool {
	return t.only != nil && !slices.Contains(t.only, words.Plain(t.ly.cell(kinds.Type, texts)))
}

// cell is what a row has for a field.
func (ly *layout) cell(field string, texts []string) string {
	for i := range ly.feeds {
		if f := &ly.feeds[i]; f.name == field {
			return joined(f.parts, texts)
		}
	}
	return ""
}

func (t *tableDrafts) read(row sheet.Row) (draft, *Rejection) {
	d := draft{line: row.Line, form: t.ly.form, column: t.ly.title}
	if row.Fault != "" {
		return d, &Rejection{row.Line, t.ly.column(row.At), row.Fault}
	}
	if at, fault := t.ly.stray(row.Texts); fault != "" {
		return d, &Rejection{row.Line, t.ly.column(at), fault}
	}
	d.body = append(make([]byte, 0, 256), '{')
	for i := range t.ly.feeds {
		if r := t.feed(&d, row, &t.ly.feeds[i]); r != nil {
			return d, r
		}
	}
	if name := t.ly.cell(kinds.HolderName, row.Texts); t.ly.form.Kind == record.Ticket && name != "" && words.KeepsOut(words.Plain(name)) {
		return d, &Rejection{row.Line, t.ly.title(kinds.HolderName), "the name says that the ticket is cancelled, refunded, blocked or not paid"}
	}
	if r := t.state(&d, row); r != nil {
		return d, r
	}
	if t.twice.has(t.ly, row.Texts) {
		return d, &Rejection{row.Line, t.ly.title(kinds.Code), faultTwoStates}
	}
	d.entered, d.at = t.checkin(row.Texts)
	d.body = append(d.body, '}')
	return d, nil
}

// stray tells rows that hold no record: the header once more, and a line of totals.
func (ly *layout) stray(texts []string) (at int, fault string) {
	filled, titled := 0, 0
	for i, cell := range texts {
		if cell = strings.TrimSpace(cell); cell == "" {
			continue
		}
		filled++
		if i < len(ly.titles) && cell == ly.titles[i] {
			titled++
		}
	}
	if titled > 0 && titled == filled && (titled > 1 || len(ly.titles) == 1) {
		return ly.firstColumn(), "the header once more"
	}
	if _, ok := headingOf(sheet.Row{Texts: texts}); ok && ly.form.Kind == record.Ticket {
		return ly.firstColumn(), faultHeading
	}
	if filled > 2 || len(ly.titles) <= filled {
		return 0, ""
	}
	if at := slices.IndexFunc(texts, isTotal); at >= 0 && !slices.ContainsFunc(slices.Delete(slices.Clone(texts), at, at+1), isWord) {
		return at, "a line of totals"
	}
	return 0, ""
}

// firstColumn is one that is read.
func (ly *layout) firstColumn() int {
	for _, f := range ly.feeds {
		return f.parts[0][0]
	}
	return 0
}

func isTotal(cell string) bool {
	p := words.Plain(cell)
	return p == "total" || strings.HasPrefix(p, "total ") || strings.HasPrefix(p, "subtotal")
}

func isWord(cell string) bool { return strings.ContainsFunc(cell, unicode.IsLetter) }

// feed puts one field's value into the draft.
func (t *tableDrafts) feed(d *draft, row sheet.Row, feed *feed) *Rejection {
	at, cell := first(feed.parts[0], row.Texts)
	if feed.name == kinds.ID {
		d.id = cell
		return nil
	}
	for _, columns := range feed.parts {
		if len(columns) > 1 {
			_, said := first(columns, row.Texts)
			t.passOver(columns, said, row.Texts)
		}
	}
	if len(feed.parts) > 1 {
		cell = joined(feed.parts, row.Texts)
	}
	if cells.Clean(cell) == "" && feed.name == kinds.Code && d.form.Kind == record.Ticket {
		return &Rejection{row.Line, t.ly.column(at), faultBlank}
	}
	if cells.Clean(cell) != "" && feed.name == kinds.ExternalID && t.ly.origin.ids != "" && feed.why == t.ly.origin.name {
		cell = t.ly.origin.name + ":" + cells.Clean(cell)
	}
	v, fault := t.value(d.form, feed.name, cell)
	switch {
	case fault != "":
		return &Rejection{row.Line, t.ly.column(at), fault}
	case v != nil:
		d.event = d.event || feed.name == kinds.Event
		d.body = appendMember(d.body, feed.name, v)
	}
	return nil
}

// value reads a cell, that of a church by the church's name.
func (t *tableDrafts) value(f kinds.Form, name, cell string) (jsontext.Value, string) {
	v, fault := t.cells.Value(name, f.Field(name), cell)
	if name != kinds.Church || t.known == nil || v == nil || fault != "" {
		return v, fault
	}
	return t.known.find(cells.Clean(cell))
}

// checkin tells whether a row says that its ticket was used, and when, where it says that.
func (t *tableDrafts) checkin(texts []string) (entered bool, at time.Time) {
	for _, i := range t.ly.checkins {
		if i >= len(texts) {
			continue
		}
		cell := cells.Clean(texts[i])
		if cells.IsDated(cell) {
			entered = true
			if m, fault := t.cells.Moment(kinds.Checkin, cell); fault == "" {
				at = cells.InZone(m, t.zone)
			}
		}
		entered = entered || words.TruthOf(cell) == "true"
	}
	for _, by := range t.ly.deciders {
		entered = entered || by.column < len(texts) && words.Plain(texts[by.column]) == "checked in"
	}
	return entered, at
}

// joined are the parts of a field's value, parted by blanks.
func joined(parts [][]int, texts []string) string {
	var all []string
	for _, columns := range parts {
		if _, cell := first(columns, texts); cell != "" {
			all = append(all, cell)
		}
	}
	return strings.Join(all, " ")
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
