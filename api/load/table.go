package load

import (
	"slices"
	"strings"
	"time"

	"doorward/api/load/cells"
	"doorward/api/load/columns"
	"doorward/api/load/kinds"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/value"

	"github.com/go-json-experiment/json/jsontext"
)

// tableDrafts reads drafts from a table by its layout.
type tableDrafts struct {
	rows  sheet.Rows
	ly    *columns.Layout
	only  []string // the types of tickets that are taken, in plain form; nil = all
	twice contradictions
	cells cells.Reader
	known *churches // nil = no column names churches
	over  []int     // columns that said something else than one before them
	left  int       // rows of other types
	zone  *time.Location
}

// ignored lists the columns that were not read, in all rows or in some.
func (t *tableDrafts) ignored() []string {
	names := slices.Clone(t.ly.Ignored)
	slices.Sort(t.over)
	for _, c := range t.over {
		names = append(names, t.ly.Name(c))
	}
	return names
}

func (t *tableDrafts) close() error { return t.rows.Close() }

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

// leaves tells whether a row is of a type that the operator leaves out.
func (t *tableDrafts) leaves(texts []string) bool {
	return t.only != nil && !slices.Contains(t.only, words.Plain(t.ly.Cell(kinds.Type, texts)))
}

func (t *tableDrafts) read(row sheet.Row) (draft, *Rejection) {
	d := draft{line: row.Line, form: t.ly.Form, column: t.ly.Column}
	if row.Fault != "" {
		return d, &Rejection{row.Line, t.ly.Title(row.At), row.Fault}
	}
	if at, fault := t.ly.Stray(row.Texts); fault != "" {
		return d, &Rejection{row.Line, t.ly.Title(at), fault}
	}
	d.body = append(make([]byte, 0, 256), '{')
	for i := range t.ly.Feeds {
		if r := t.feed(&d, row, &t.ly.Feeds[i]); r != nil {
			return d, r
		}
	}
	if name := t.ly.Cell(kinds.HolderName, row.Texts); t.ly.Form.Kind == record.Ticket && name != "" && words.NameKeepsOut(name) {
		return d, &Rejection{row.Line, t.ly.Column(kinds.HolderName), "the name says that the ticket is cancelled, refunded, blocked or not paid"}
	}
	if t.ly.Form.Kind == record.Ticket && len(t.ly.Deciders) == 0 && saysOut(t.ly.Cell(kinds.Code, row.Texts)) {
		return d, &Rejection{row.Line, t.ly.Column(kinds.Code), faultNoCode}
	}
	if r := t.state(&d, row); r != nil {
		return d, r
	}
	if t.twice.has(t.ly, row.Texts) {
		return d, &Rejection{row.Line, t.ly.Column(kinds.Code), faultTwoStates}
	}
	d.entered, d.at = t.checkin(row.Texts)
	d.body = append(d.body, '}')
	return d, nil
}

// saysOut tells words for a state in the place of a code. Where a column says states, they may be a code.
func saysOut(code string) bool {
	if strings.ContainsAny(code, "0123456789") {
		return false
	}
	out, _ := words.Heading(words.Plain(code))
	return out
}

// feed puts one field's value into the draft.
func (t *tableDrafts) feed(d *draft, row sheet.Row, feed *columns.Feed) *Rejection {
	at, cell, over := feed.Read(row.Texts)
	if feed.Name == kinds.ID {
		d.id = cell
		return nil
	}
	for _, c := range over {
		if !slices.Contains(t.over, c) {
			t.over = append(t.over, c)
		}
	}
	if cells.Clean(cell) == "" && feed.Name == kinds.Code && d.form.Kind == record.Ticket {
		return &Rejection{row.Line, t.ly.Title(at), fault.Blank} // a code made here would be another at every further import
	}
	if cells.Clean(cell) != "" && feed.Name == kinds.ExternalID && t.ly.Origin.IDs != "" && feed.Why == t.ly.Origin.Name {
		cell = t.ly.Origin.Name + ":" + cells.Clean(cell)
	}
	v, wrong := t.value(d.form, feed.Name, cell)
	switch {
	case wrong != "":
		return &Rejection{row.Line, t.ly.Title(at), wrong}
	case v != nil:
		d.event = d.event || feed.Name == kinds.Event
		d.body = appendMember(d.body, feed.Name, v)
	}
	return nil
}

// value reads a cell. A cell that names a church gives the church's id.
func (t *tableDrafts) value(f kinds.Form, name, cell string) (jsontext.Value, string) {
	v, fault := t.cells.Value(name, f.Field(name), cell)
	if name != kinds.Church || t.known == nil || v == nil || fault != "" {
		return v, fault
	}
	return t.known.find(cells.Clean(cell))
}

// checkin tells whether a row says that its ticket was used, and when; zero = it does not say when.
func (t *tableDrafts) checkin(texts []string) (entered bool, at time.Time) {
	for _, i := range t.ly.Checkins {
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
	for _, by := range t.ly.Deciders {
		entered = entered || by.Column < len(texts) && words.Plain(texts[by.Column]) == "checked in"
	}
	return entered, at
}

const (
	faultNoCode     = "words in the place of a code, which say that the ticket is cancelled, refunded, blocked or not paid"
	faultState      = "not a known state; --states 'WORD=valid' says what a word means"
	faultBlankState = "no state; --states '=valid' says what a blank cell means"
)

// state puts a ticket's state into the draft: the strictest state of its columns.
func (t *tableDrafts) state(d *draft, row sheet.Row) *Rejection {
	if word, ok := t.cells.States[""]; ok && len(t.ly.Deciders) == 0 {
		d.body = appendMember(d.body, kinds.State, value.Quote(word)) // no column says a state: every cell of it is blank
		return nil
	}
	worst, blank := -1, -1
	for _, by := range t.ly.Deciders {
		cell := ""
		if by.Column < len(row.Texts) {
			cell = cells.Clean(row.Texts[by.Column])
		}
		said := by.Means(cell, t.cells.States)
		switch {
		case said >= 0:
			worst = max(worst, said)
		case words.Saying(cell) == "":
			blank = by.Column
		case cells.Spoiled(cell):
			return &Rejection{row.Line, t.ly.Title(by.Column), "an error value of a spreadsheet"}
		default:
			return &Rejection{row.Line, t.ly.Title(by.Column), faultState}
		}
	}
	if blank >= 0 && worst <= 0 {
		return &Rejection{row.Line, t.ly.Title(blank), faultBlankState}
	}
	if worst >= 0 {
		d.body = appendMember(d.body, kinds.State, value.Quote(words.Severity[worst]))
	}
	return nil
}
