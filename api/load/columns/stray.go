package columns

import (
	"slices"
	"strings"
	"unicode"

	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv/record"
)

// Stray tells rows that hold no record: the header once more, and a line of totals.
func (ly *Layout) Stray(texts []string) (at int, fault string) {
	filled, titled := 0, 0
	for i, cell := range texts {
		if cell = strings.TrimSpace(cell); cell == "" {
			continue
		}
		filled++
		if i < len(ly.Titles) && cell == ly.Titles[i] {
			titled++
		}
	}
	if titled > 0 && titled == filled && (titled > 1 || len(ly.Titles) == 1) {
		return ly.firstColumn(), "the header once more"
	}
	if _, ok := HeadingOf(sheet.Row{Texts: texts}); ok && ly.Form.Kind == record.Ticket {
		return ly.firstColumn(), faultHeading
	}
	if filled > 2 || len(ly.Titles) <= filled {
		return 0, ""
	}
	if at := slices.IndexFunc(texts, isTotal); at >= 0 && !slices.ContainsFunc(slices.Delete(slices.Clone(texts), at, at+1), isWord) {
		return at, "a line of totals"
	}
	return 0, ""
}

// firstColumn is one that is read.
func (ly *Layout) firstColumn() int {
	for _, f := range ly.Feeds {
		return f.Parts[0][0]
	}
	return 0
}

func isTotal(cell string) bool {
	p := words.Plain(cell)
	return p == "total" || strings.HasPrefix(p, "total ") || strings.HasPrefix(p, "subtotal")
}

func isWord(cell string) bool { return strings.ContainsFunc(cell, unicode.IsLetter) }

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
