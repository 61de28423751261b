package profile

import (
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"doorward/api/load/cells"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
)

const (
	MaxDistinct = 200 // values of a column that are counted one by one; of every cell it is seen what it may be
	MaxSamples  = 2
	maxChoice   = 12 // values of a column that tells one group of rows from another
	maxSorts    = 4  // values of one that sorts the rows
	maxShort    = 20 // characters of each of these
	maxSample   = 40 // characters of a sample
)

// Trait is something that a cell may be. A profile counts the cells of each.
type Trait byte

const (
	Letters  Trait = iota // it has a letter
	Digits                // it has a digit
	Ats                   // it has an @
	Codes                 // it may be a code
	Truths                // yes or no
	Whole                 // an integer
	long                  // an integer of more than two digits
	Numbers               // an amount
	Zeros                 // an amount of nothing
	Below                 // an amount below zero
	Telling               // it begins as words for states do
	Outs                  // it has a word that refuses admission
	States                // it is a word for a state that refuses admission
	Parts                 // it is a part of a whole: 1/3, 1 de 3
	Days                  // it begins with a day of this century
	Nothings              // it says nothing: -, n/a, #N/A, ?
	Blanks                // it is as good as blank: -, n/a
	Oks                   // it is a word for a ticket that gets in
	Paids                 // it is an amount above zero, or a word for a ticket that gets in
	Ways                  // it is a way to pay
	Doubts                // it leaves open whether all is paid: half, tomorrow, 50%
	Sums                  // it names an amount that was paid, which may be a part: pagou 25
	Others                // it names another guest beside the ticket: ingresso da Bia
	traits                // how many there are
)

// Column is what the cells of one column look like.
type Column struct {
	Rows     int
	Filled   int
	Counts   map[string]int // by value; nil where there are more than MaxDistinct
	Samples  []string       // the first values, as people see them
	Has      [traits]int
	known    map[string][traits]bool // what was seen of the values that are counted
	Dates    cells.Evidence
	latest   [2]string           // its last day, read with the day first and with the month first
	NotPrice int                 // rows with another amount than their price
	Unique   map[uint64]struct{} // the values that differ as codes, of columns that may hold codes
}

// NewColumn is a column of which this many rows were read, all blank.
func NewColumn(rows int) Column {
	return Column{Rows: rows, Counts: map[string]int{}, known: map[string][traits]bool{}}
}

// Table studies the columns of a table.
type Table struct {
	Columns []Column
	rows    int // that were studied
	seed    maphash.Seed
	prices  []int // the columns of what is to be paid
	paid    []int // those of what was
}

// NewTable begins to study a table with these titles. Of columns that may hold codes the different values are counted, and what was paid is
// compared with the price in every row.
func NewTable(titles []string) *Table {
	p := &Table{Columns: make([]Column, len(titles)), seed: maphash.MakeSeed()}
	for i := range p.Columns {
		p.Columns[i] = NewColumn(0)
		title := words.PlainTitle(titles[i])
		if words.IsCode(title) {
			p.Columns[i].Unique = map[uint64]struct{}{}
		}
		switch {
		case words.IsPrice(title):
			p.prices = append(p.prices, i)
		case words.IsPaid(title):
			p.paid = append(p.paid, i)
		}
	}
	return p
}

// Row studies a row. Columns beyond the titled ones are studied too, if they hold anything.
func (p *Table) Row(texts []string) {
	for i := len(p.Columns); i < min(len(texts), sheet.MaxColumns); i++ {
		if cells.Clean(texts[i]) != "" {
			for len(p.Columns) <= i {
				p.Columns = append(p.Columns, NewColumn(p.rows))
			}
		}
	}
	for i := range p.Columns {
		p.Columns[i].Add(cells.At(texts, i), p.seed)
	}
	p.rows++
	p.compare(texts)
}

// compare holds what a row says was paid against its price, the first of its columns of prices that holds an amount.
func (p *Table) compare(texts []string) {
	if len(p.paid) == 0 {
		return
	}
	for _, i := range p.prices {
		price := cells.At(texts, i)
		if !cells.IsAmount(price) {
			continue
		}
		for _, paid := range p.paid {
			if cell := cells.At(texts, paid); cells.IsAmount(cell) && !cells.SameAmount(price, cell) {
				p.Columns[paid].NotPrice++
			}
		}
		return
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
		p.Unique[maphash.String(seed, cells.CodeKey(cell))] = struct{}{}
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
	p.study(cell)
}

func (p *Column) study(cell string) {
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
	if has[Days] {
		p.latest[0], p.latest[1] = max(p.latest[0], cells.DayOf(cell, cells.DayFirst)), max(p.latest[1], cells.DayOf(cell, cells.MonthFirst))
	}
}

// Latest is the last day of its cells, read in an order; the later one of both where the order is not known.
func (p *Column) Latest(order cells.Order) string {
	switch order {
	case cells.DayFirst:
		return p.latest[0]
	case cells.MonthFirst:
		return p.latest[1]
	}
	return max(p.latest[0], p.latest[1])
}

// traitsOf looks at a cell.
func traitsOf(cell string) [traits]bool {
	text := words.Plain(cell)
	sign, isNumber := cells.SignOf(cell)
	isWhole := strings.Trim(cell, "0123456789") == ""
	isOk := words.StateWords[text] == words.Severity[0] && words.StateOf(cell, nil) != "" // most cells say no state
	return [traits]bool{
		Letters:  strings.ContainsFunc(cell, unicode.IsLetter),
		Digits:   strings.ContainsFunc(cell, unicode.IsDigit),
		Ats:      strings.Contains(cell, "@"),
		Codes:    codeLike(cell, text),
		Truths:   words.IsYesOrNo(cell, text),
		Whole:    isWhole,
		long:     isWhole && len(cell) > 2,
		Numbers:  isNumber,
		Zeros:    isNumber && sign == 0,
		Below:    isNumber && sign < 0,
		Telling:  words.Telling(text),
		Outs:     words.KeepsOut(cell, text),
		States:   words.Refuses(words.StateWords[text]),
		Parts:    !isNumber && isPart(cell),
		Days:     cells.IsDay(cell),
		Nothings: !isNumber && (cells.Spoiled(cell) || words.SaysNothing(cell, text)),
		Blanks:   !isNumber && words.IsNothing(cell, text),
		Oks:      isOk,
		Paids:    isNumber && sign > 0 || isOk,
		Ways:     words.IsWay(text),
		Doubts:   words.IsDoubtful(text) || strings.HasSuffix(cell, "%") && text != "100",
		Sums:     !isNumber && namesSum(cell, text),
		Others:   words.NamesOther(cell, text),
	}
}

// namesSum tells a cell, given with its plain form, that names an amount behind a word for what is paid: pagou R$ 25. A day is none.
func namesSum(cell, text string) bool {
	if !strings.ContainsAny(text, "0123456789") || !words.IsPayment(text) {
		return false
	}
	all := strings.Fields(strings.ReplaceAll(cell, "R$ ", "R$"))
	for i, word := range all[1:] {
		if words.IsPayment(words.Plain(all[i])) && cells.IsAmount(strings.TrimRight(word, ".,;:")) {
			return true
		}
	}
	return false
}

// isPart tells two numbers of which the first is the smaller one.
func isPart(cell string) bool {
	if len(cell) > len("10 de 12") || cell[0] < '0' || cell[0] > '9' {
		return false
	}
	all := strings.FieldsFunc(cell, func(r rune) bool { return r < '0' || r > '9' })
	if len(all) != 2 {
		return false
	}
	done, _ := strconv.Atoi(all[0])
	of, _ := strconv.Atoi(all[1])
	return done < of
}

// codeLike, given the plain form too, tells what may stand on a ticket from prices, dates, addresses and sentences.
func codeLike(cell, text string) bool {
	if strings.ContainsAny(cell, " \t\n@$€") || words.Truths[text] != "" && len(cell) > 1 {
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

// Mostly tells whether more than half of the filled cells have a trait.
func (p *Column) Mostly(t Trait) bool { return 2*p.Has[t] > p.Filled }

// All tells whether all of them have it.
func (p *Column) All(t Trait) bool { return p.Has[t] == p.Filled }

// IsWhole tells a column of integers.
func (p *Column) IsWhole() bool { return p.All(Whole) }

// Says is how many cells say something: they are filled, and not with a dash or n/a.
func (p *Column) Says() int { return p.Filled - p.Has[Blanks] }

// Names tells a column in which almost every row may have a code of its own: no days, and no numbers that count the rows from 1.
func (p *Column) Names() bool {
	differs := p.Counts == nil || 10*len(p.Counts) >= 9*p.Filled
	counts := p.IsWhole() && len(p.Samples) > 0 && p.Samples[0] == "1"
	return p.Filled > 0 && 2*p.Filled >= p.Rows && p.Mostly(Codes) && p.Has[Days] == 0 && differs && !counts
}

// IsSums tells a column of amounts that some rows lack in words, as free or n/a.
func (p *Column) IsSums() bool {
	return p.Has[Numbers] > 0 && p.Has[Numbers]+p.Has[Nothings]+p.Has[Oks] == p.Filled
}

// IsAmounts tells a column as IsSums does, of numbers that are no short codes, 1, 2, 3.
func (p *Column) IsAmounts() bool {
	return p.IsSums() && (p.Has[Whole] < p.Has[Numbers] || p.Has[long] > 0)
}

// DiffersInParts tells a column in which a row has a part of a whole, or short numbers that are not the same in all rows.
func (p *Column) DiffersInParts() bool {
	return p.Has[Parts] > 0 || p.IsWhole() && p.Has[long] == 0 && len(p.Counts) != 1
}

// IsYesOrNo tells a column that says yes or no, and not the same of all rows.
func (p *Column) IsYesOrNo() bool {
	return p.Filled > 0 && p.All(Truths) && (p.Filled < p.Rows || len(p.Counts) > 1) && (!p.IsWhole() || p.Has[Zeros] > 0) // a table is 1 too
}

// IsChoice tells a column of few values, not the same in all rows.
func (p *Column) IsChoice() bool {
	return p.Filled > 0 && p.Counts != nil && len(p.Counts) <= maxChoice && (p.Filled < p.Rows || len(p.Counts) > 1)
}

// Sorts tells a column that sorts the rows by two to four short values, blank among them, which stand over and over.
func (p *Column) Sorts() bool {
	values := len(p.Counts)
	if p.Filled < p.Rows {
		values++
	}
	for v := range p.Counts {
		if len([]rune(v)) > maxShort {
			return false
		}
	}
	return p.Filled > 0 && p.Counts != nil && values > 1 && values <= maxSorts && p.Rows >= 3*(values-1)
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
