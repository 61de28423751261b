package load

import (
	"doorward/api/load/cells"
	"doorward/api/load/kinds"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv/record"
)

const (
	faultState      = "not a known state; --states 'WORD=valid' says what a word means"
	faultBlankState = "no state; --states '=valid' says what a blank cell means"
)

// state puts a ticket's state into the draft: the strictest that its columns say.
func (t *tableDrafts) state(d *draft, row sheet.Row) *Rejection {
	if word, ok := t.cells.States[""]; ok && len(t.ly.Deciders) == 0 {
		d.body = appendMember(d.body, kinds.State, record.Quote(word)) // no column says a state: every cell of it is blank
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
		d.body = appendMember(d.body, kinds.State, record.Quote(words.Severity[worst]))
	}
	return nil
}
