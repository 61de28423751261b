package profile

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"unicode"

	"doorward/api/load/cells"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv/codes"
)

const (
	MaxDistinct = 200  // values of a column that are counted one by one
	maxStudied  = 5000 // rows in which every cell is looked at; of columns with many values only the first so many
	MaxSamples  = 2
	maxSample   = 40 // characters of a sample
)

// Trait is something that a cell may be. A profile counts the cells of each.
type Trait byte

const (
	Letters Trait = iota // it has a letter
	Digits               // it has a digit
	Ats                  // it has an @
	Codes                // it may be a code
	Truths               // yes or no
	Whole                // an integer
	long                 // an integer of more than two digits
	Numbers              // an amount
	Zeros                // an amount of nothing
	Below                // an amount below zero
	Telling              // it begins as words for states do
	Outs                 // it has a word that refuses admission
	traits               // how many there are
)

// Column is what the cells of one column look like.
type Column struct {
	Rows    int
	Filled  int
	Studied int            // filled cells that has is about
	Counts  map[string]int // by value; nil where there are more than MaxDistinct
	Samples []string       // the first values, as people see them
	Has     [traits]int
	known   map[string][traits]bool // what was seen of the values that are counted
	Dates   cells.Evidence
	Unique  map[uint64]struct{} // the values that differ as codes, of columns that may hold codes
}

// NewColumn is a column of which this many rows were read, all blank.
func NewColumn(rows int) Column {
	return Column{Rows: rows, Counts: map[string]int{}, known: map[string][traits]bool{}}
}

// Table studies the columns of a table.
type Table struct {
	Columns []Column
	seed    maphash.Seed
}

// NewTable begins to study a table of so many columns. Of those that may hold codes the different values are counted.
func NewTable(columns int, codes func(column int) bool) *Table {
	p := &Table{Columns: make([]Column, columns), seed: maphash.MakeSeed()}
	for i := range p.Columns {
		p.Columns[i] = NewColumn(0)
		if codes(i) {
			p.Columns[i].Unique = map[uint64]struct{}{}
		}
	}
	return p
}

// Row studies a row. Columns beyond the titled ones are studied too, if they hold anything.
func (p *Table) Row(texts []string) {
	for i := len(p.Columns); i < min(len(texts), sheet.MaxColumns); i++ {
		if cells.Clean(texts[i]) != "" {
			p.grow(i + 1)
		}
	}
	for i := range p.Columns {
		cell := ""
		if i < len(texts) {
			cell = cells.Clean(texts[i])
		}
		p.Columns[i].Add(cell, p.seed)
	}
}

func (p *Table) grow(columns int) {
	rows := 0
	if len(p.Columns) > 0 {
		rows = p.Columns[0].Rows
	}
	for len(p.Columns) < columns {
		p.Columns = append(p.Columns, NewColumn(rows))
	}
}

// Add counts a cell.
func (p *Column) Add(cell string, seed maphash.Seed) {
	p.Rows++
	if cell == "" {
		return
	}
	p.Filled++
	if p.Unique != nil {
		p.Unique[maphash.String(seed, codes.Normal(cells.WithoutFormat(cell)))] = struct{}{}
	}
	before := 0
	if p.Counts != nil {
		if before = p.Counts[cell]; before == 0 && len(p.Counts) == MaxDistinct {
			p.Counts = nil
		} else {
			p.Counts[strings.Clone(cell)]++
		}
	}
	if before == 0 && len(p.Samples) < MaxSamples && !slices.Contains(p.Samples, Sample(cell)) {
		p.Samples = append(p.Samples, Sample(cell))
	}
	p.Dates.Add(cell)
	if p.Counts == nil && p.Rows > maxStudied {
		return
	}
	p.study(cell)
}

func (p *Column) study(cell string) {
	p.Studied++
	has, known := p.known[cell]
	if !known {
		has = traitsOf(cell)
		if p.Counts != nil {
			p.known[strings.Clone(cell)] = has
		}
	}
	for t, is := range has {
		if is {
			p.Has[t]++
		}
	}
}

// traitsOf looks at a cell.
func traitsOf(cell string) [traits]bool {
	text := words.Plain(cell)
	sign, isNumber := cells.SignOf(cell)
	isWhole := strings.Trim(cell, "0123456789") == ""
	return [traits]bool{
		Letters: strings.ContainsFunc(cell, unicode.IsLetter),
		Digits:  strings.ContainsFunc(cell, unicode.IsDigit),
		Ats:     strings.Contains(cell, "@"),
		Codes:   codeLike(cell),
		Truths:  words.Truths[text] != "" || text == "" && words.TruthOf(cell) != "",
		Whole:   isWhole,
		long:    isWhole && len(cell) > 2,
		Numbers: isNumber,
		Zeros:   isNumber && sign == 0,
		Below:   isNumber && sign < 0,
		Telling: words.Begins(text, words.TellingValues),
		Outs:    words.KeepsOut(text),
	}
}

// codeLike tells what may stand on a ticket from prices, dates, addresses and sentences.
func codeLike(cell string) bool {
	if strings.ContainsAny(cell, " \t\n@$€") || words.Truths[words.Plain(cell)] != "" && len(cell) > 1 {
		return false
	}
	if i := strings.LastIndexAny(cell, ".,"); i > 0 && len(cell)-i == 3 && strings.Trim(cell, "0123456789.,") == "" {
		return false // 50,00
	}
	_, isDate := cells.ThreeNumbers(cell)
	return !isDate
}

// Sample is a value as a table shows it.
func Sample(cell string) string {
	cell = strings.Join(strings.Fields(cell), " ")
	if r := []rune(cell); len(r) > maxSample {
		return string(r[:maxSample-1]) + "…"
	}
	return cell
}

// Mostly tells whether more than half of the cells that were looked at have a trait.
func (p *Column) Mostly(t Trait) bool { return 2*p.Has[t] > p.Studied }

// All tells whether all of them have it.
func (p *Column) All(t Trait) bool { return p.Has[t] == p.Studied }

// IsWhole tells a column of integers.
func (p *Column) IsWhole() bool { return p.All(Whole) }

// IsAmounts tells numbers that are no short codes, 1, 2, 3.
func (p *Column) IsAmounts() bool {
	return p.All(Numbers) && (p.Has[Whole] < p.Has[Numbers] || p.Has[long] > 0)
}

// IsNumbering tells a column in which every row has a number or code of its own.
func (p *Column) IsNumbering() bool {
	return p.Filled == p.Rows && p.Filled > 3 && p.Mostly(Codes) && p.Mostly(Digits) && (p.Counts == nil || len(p.Counts) == p.Filled)
}

// Value is one value of a column and in how many rows it stands.
type Value struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// Values are the different ones, the most frequent first; nil where there are too many to be a choice.
func (p *Column) Values() []Value {
	if p.Counts == nil {
		return nil
	}
	var out []Value
	for _, v := range slices.Sorted(maps.Keys(p.Counts)) {
		out = append(out, Value{v, p.Counts[v]})
	}
	slices.SortStableFunc(out, func(a, b Value) int { return b.Count - a.Count })
	return out
}

// Share is how many of the filled cells a test holds for; the column has few values.
func (p *Column) Share(is func(value string) bool) (n int) {
	for v, count := range p.Counts {
		if is(v) {
			n += count
		}
	}
	return n
}

// IsCodes tells whether a column can hold the codes of tickets: it is filled, its values differ, and they look like codes.
func (p *Column) IsCodes() bool { return p.WhyNoCodes() == "" }

// WhyNoCodes says why a column cannot hold the codes of tickets; "" if it can.
func (p *Column) WhyNoCodes() string {
	switch {
	case p.Filled == 0:
		return ""
	case !p.Mostly(Codes):
		return "what stands in it looks like no codes of tickets"
	case 2*p.Filled < p.Rows:
		return "most rows have none"
	case 2*len(p.Unique) <= p.Filled, p.Filled >= 20 && 10*len(p.Unique) < 9*p.Filled:
		return "many rows have the same one, and a ticket's code is its own"
	}
	return ""
}
