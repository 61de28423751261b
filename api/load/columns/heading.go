package columns

import (
	"strings"

	"doorward/api/load/sheet"
	"doorward/api/load/words"
)

// Heading is a line above the header, or a line or a sheet's name above rows, that says of them what no column does: a waiting list.
type Heading struct {
	Line int // 0 = a sheet's name
	Text string
}

// faultHeading refuses one among the rows.
const faultHeading = "a heading, not a row"

// HeadingOf is the only cell of a row, if it has words that refuse admission.
func HeadingOf(row sheet.Row) (h Heading, ok bool) {
	for _, cell := range row.Texts {
		if cell = strings.TrimSpace(cell); cell == "" {
			continue
		}
		if h.Text != "" {
			return Heading{}, false
		}
		h = Heading{row.Line, cell}
	}
	return h, words.KeepsOut(words.Plain(h.Text))
}
