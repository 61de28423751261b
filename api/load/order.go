package load

import (
	"fmt"
	"hash/maphash"
	"strings"

	"doorward/api/load/cells"
	"doorward/api/load/columns"
	"doorward/api/load/kinds"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv/record"
)

// orderRows is what the first row of an order says. An export may say it in that row alone, for all tickets of the order.
type orderRows struct {
	order
	further bool             // the row that was read last is a further one of the order
	out     map[string]order // the orders of which not all tickets get in: their rows may lie apart
}

// order is one order of a list.
type order struct {
	name   string
	line   int   // of the first row; 0 = no row was read
	out    []int // the columns that keep its ticket out
	unsure bool  // that row is torn, and the columns are all that may keep its ticket out
	lost   bool  // nothing of that row is known, so the next one may be of its order
}

// read reads the order of a row, also of one that is refused or left out. A row is a further one of an order if it names the same as the row
// before it, or none, or an order that does not get in.
func (o *orderRows) read(t *tableFile, row sheet.Row) {
	switch {
	case isTorn(t.ly, row):
		o.order, o.further = tornOrder(t.ly, "", row.Line), false
		o.lost = strings.Join(row.Texts, "") == ""
		return
	case row.Torn:
		return // a line of totals is of no order
	}
	name := strings.ToLower(cells.Clean(t.ly.Cell(kinds.Order, row.Texts)))
	if name == "" || name == o.name {
		o.further = o.line > 0
		return
	}
	line := t.torn.line(name)
	if o.lost {
		line = o.line
	}
	if o.order, o.further = o.out[name]; o.further {
		return
	}
	if line > 0 {
		o.order, o.further = tornOrder(t.ly, name, line), true
	} else {
		o.order = order{name: name, line: row.Line, out: keptOut(t, row)}
	}
	if len(o.order.out) > 0 {
		if o.out == nil {
			o.out = map[string]order{}
		}
		o.out[name] = o.order
	}
}

// keptOut lists the columns by which a row does not get in. A word that is not known keeps out too.
func keptOut(t *tableFile, row sheet.Row) (out []int) {
	for _, by := range t.ly.Deciders {
		cell := cells.At(row.Texts, by.Column)
		if means := by.Means(cell, t.src.States); means > 0 || means < 0 && words.Saying(cell) != "" {
			out = append(out, by.Column)
		}
	}
	return out
}

// tornOrder is an order with a row that is torn. Every column that decides, and every one that is blank in all other rows, may say in that row that
// the order does not get in.
func tornOrder(ly *columns.Layout, name string, line int) order {
	o := order{name: name, line: line, unsure: true}
	for _, by := range ly.Deciders {
		o.out = append(o.out, by.Column)
	}
	for i := range ly.Profiles {
		if ly.Profiles[i].Filled == 0 && ly.Titles[i] != "" {
			o.out = append(o.out, i)
		}
	}
	return o
}

// inOrder refuses a row with a blank cell where the first row of its order keeps its ticket out. --states may say what a blank cell means.
func (t *tableDrafts) inOrder(row sheet.Row) *Rejection {
	if t.ly.Form.Kind != record.Ticket || t.ly.Feed(kinds.Order) == nil || !t.orders.further {
		return nil
	}
	if _, said := t.src.States[""]; said {
		return nil
	}
	first := t.orders.order
	why := "the first of its order, says that it does not get in"
	if first.unsure {
		why = "which may be of its order, is refused and may say that it does not get in"
	}
	for _, c := range first.out {
		if isBlank(cells.At(row.Texts, c)) {
			return &Rejection{row.Line, t.ly.Title(c), fmt.Sprintf("blank, and line %d, %s; "+
				"say it in each row, or --states '=valid' if a blank cell means that its ticket gets in", first.line, why)}
		}
	}
	return nil
}

// isBlank tells a cell that says nothing: a dash, n/a. No is an answer.
func isBlank(cell string) bool {
	return words.Saying(cell) == "" || words.IsNothing(cell, words.Plain(cell)) && words.TruthOf(cell) == ""
}

// isTorn tells a row that may hold a ticket, and with cells that may not stand under their titles.
func isTorn(ly *columns.Layout, row sheet.Row) bool {
	return row.Torn && !columns.IsTotal(row.Texts, len(ly.Titles))
}

// inTorn refuses a row with a code that may be the code of a torn row: that row may say another state.
func (t *tableDrafts) inTorn(row sheet.Row) *Rejection {
	line := t.torn.line(t.ly.Cell(kinds.Code, row.Texts))
	if line == 0 {
		return nil
	}
	return &Rejection{row.Line, t.ly.Column(kinds.Code), fmt.Sprintf("line %d, which is refused, may have the same code and another state", line)}
}

// maxTorn is how many different cells of torn rows are kept. A file with more is refused.
const maxTorn = 1 << 20

// tornRows are the rows with cells that may not stand under their titles, so each of a row's cells may be its code, or the name of its order.
type tornRows struct {
	seed  maphash.Seed
	lines map[uint64]int32 // hash of a cell → its line
}

func newTornRows() tornRows { return tornRows{maphash.MakeSeed(), map[uint64]int32{}} }

func (t *tornRows) add(row sheet.Row) {
	if t.tooMany() {
		return
	}
	for _, cell := range row.Texts {
		if sum, ok := t.hash(cell); ok {
			t.lines[sum] = int32(row.Line)
		}
	}
}

func (t *tornRows) tooMany() bool { return len(t.lines) > maxTorn }

// line is the line of a torn row with a cell; 0 = there is none.
func (t *tornRows) line(cell string) int {
	if len(t.lines) == 0 {
		return 0
	}
	sum, _ := t.hash(cell)
	return int(t.lines[sum])
}

func (t *tornRows) hash(cell string) (sum uint64, ok bool) {
	cell = cells.CodeKey(cell)
	return maphash.String(t.seed, cell), cell != ""
}
