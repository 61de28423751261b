package load

import (
	"slices"
	"strings"

	"doorward/api/load/cells"
	"doorward/api/load/kinds"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv/record"
)

// decider is a column that decides who gets in.
type decider struct {
	column int
	state  string // what it means when it says so; "" = its cells are states
	when   string // "true", "false" or whenOwed
}

// whenOwed is any amount above zero.
const whenOwed = "an amount"

// decider reads a column of a title that is a flag's as such, any other one as states.
func deciderOf(column int, title string) decider {
	for _, f := range words.FlagTitles {
		if slices.Contains(strings.Split(f.Words, "|"), title) {
			return decider{column, f.State, f.When}
		}
	}
	return decider{column: column}
}

// means is what a cell says of its ticket: the place in severity; not known with -1.
func (d decider) means(cell string, own map[string]string) int {
	p := words.Saying(cell)
	state := words.StateOf(cell, own)
	if d.when == whenOwed && own[p] == "" {
		return slices.Index(words.Severity, owing(cell))
	}
	if d.state != "" && own[p] == "" {
		switch yes := words.TruthOf(cell); {
		case yes == d.when, d.when == "true" && cells.IsDated(cell):
			state = d.state
		case yes != "", p == "" && d.when == "true":
			state = words.Severity[0]
		case isFlagWord(d, p):
			state = d.state
		}
	}
	if state == "" {
		return -1
	}
	return slices.Index(words.Severity, state)
}

// owing is the state of who owes an amount; "" where it is none.
func owing(cell string) string {
	if cell == "" {
		return words.Severity[0]
	}
	switch sign, ok := cells.SignOf(cell); {
	case !ok:
		return ""
	case sign > 0:
		return "unpaid"
	}
	return words.Severity[0]
}

// isFlagWord tells a cell that repeats its column's title: “Cancelado” under Cancelado.
func isFlagWord(d decider, word string) bool {
	return d.when == "true" && words.StateWords[word] == d.state
}

const (
	faultState      = "not a known state; --states 'WORD=valid' says what a word means"
	faultBlankState = "no state; --states '=valid' says what a blank cell means"
)

// state puts a ticket's state into the draft: the strictest that its columns say.
func (t *tableDrafts) state(d *draft, row sheet.Row) *Rejection {
	if word, ok := t.cells.States[""]; ok && len(t.ly.deciders) == 0 {
		d.body = appendMember(d.body, kinds.State, record.Quote(word)) // no column says a state: every cell of it is blank
		return nil
	}
	worst, blank := -1, -1
	for _, by := range t.ly.deciders {
		cell := ""
		if by.column < len(row.Texts) {
			cell = cells.Clean(row.Texts[by.column])
		}
		said := by.means(cell, t.cells.States)
		switch {
		case said >= 0:
			worst = max(worst, said)
		case words.Saying(cell) == "":
			blank = by.column
		case cells.Spoiled(cell):
			return &Rejection{row.Line, t.ly.column(by.column), "an error value of a spreadsheet"}
		default:
			return &Rejection{row.Line, t.ly.column(by.column), faultState}
		}
	}
	if blank >= 0 && worst <= 0 {
		return &Rejection{row.Line, t.ly.column(blank), faultBlankState}
	}
	if worst >= 0 {
		d.body = appendMember(d.body, kinds.State, record.Quote(words.Severity[worst]))
	}
	return nil
}
