package load

import (
	"fmt"
	"strings"

	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv/record"
)

// heading is a line above the header, or a line or a sheet's name above rows, that says of them what no column does: a waiting list.
type heading struct {
	line int // 0 = a sheet's name
	text string
}

// faultHeading refuses one among the rows.
const faultHeading = "a heading, not a row"

// headingOf is the only cell of a row, if it has words that keep somebody out.
func headingOf(row sheet.Row) (h heading, ok bool) {
	for _, cell := range row.Texts {
		if cell = strings.TrimSpace(cell); cell == "" {
			continue
		}
		if h.text != "" {
			return heading{}, false
		}
		h = heading{row.Line, cell}
	}
	return h, words.KeepsOut(words.Plain(h.text))
}

// checkHeadings stops an import whose rows stand below a heading of what is no admission, where no column says a state.
func (t *tableFile) checkHeadings() error {
	_, decided := t.src.States[""]
	if len(t.headings) == 0 || decided || len(t.ly.deciders) > 0 || t.ly.form.Kind != record.Ticket {
		return nil
	}
	h := t.headings[0]
	where := fmt.Sprintf("line %d", h.line)
	if h.line == 0 {
		where = "the sheet's name"
	}
	return fmt.Errorf("%w: %s says “%s”, and no column says who gets in: give each row its state, or say --states '=valid' to let all rows in, or '=unpaid' or '=blocked' to keep all out",
		ErrSource, where, sample(h.text))
}
