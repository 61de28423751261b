package load

import (
	"strings"

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
}

func (t *tableDrafts) ignored() []string { return t.ly.ignored }

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
	d.body = append(make([]byte, 0, 256), '{')
	for i := range t.ly.feeds {
		feed := &t.ly.feeds[i]
		at, cell := first(feed.columns, row.texts)
		if feed.name == nameID {
			d.id = cell
			continue
		}
		if cell == "" && feed.name == nameCode && d.form.kind == record.Ticket {
			return d, &Rejection{row.line, t.ly.column(at), faultBlank}
		}
		v, fault := t.cells.value(feed.name, d.form.field(feed.name), cell)
		switch {
		case fault != "":
			return d, &Rejection{row.line, t.ly.column(at), fault}
		case v != nil:
			d.event = d.event || feed.name == nameEvent
			d.body = appendMember(d.body, feed.name, v)
		}
	}
	d.body = append(d.body, '}')
	return d, nil
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
