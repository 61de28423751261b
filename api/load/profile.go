package load

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"unicode"

	"doorward/api/load/cells"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
)

const (
	maxDistinct = 200  // values of a column that are counted one by one
	maxStudied  = 5000 // rows in which every cell is looked at; of columns with many values only the first so many
	maxSamples  = 2
	maxSample   = 40 // characters of a sample
)

// trait is something that a cell may be. A profile counts the cells of each.
type trait byte

const (
	letters trait = iota // it has a letter
	digits               // it has a digit
	ats                  // it has an @
	codes                // it may be a code
	truths               // yes or no
	whole                // an integer
	long                 // an integer of more than two digits
	numbers              // an amount
	zeros                // an amount of nothing
	below                // an amount below zero
	telling              // it begins as words for states do
	outs                 // it has a word that refuses admission
	traits               // how many there are
)

// profile is what the cells of one column look like.
type profile struct {
	rows    int
	filled  int
	studied int            // filled cells that has is about
	counts  map[string]int // by value; nil where there are more than maxDistinct
	samples []string       // the first values, as people see them
	has     [traits]int
	dates   cells.Evidence
	unique  map[uint64]struct{} // the different values, of columns that may hold codes
}

// profiler studies the columns of a table.
type profiler struct {
	columns []profile
	seed    maphash.Seed
}

func newProfiler(columns int, codes func(column int) bool) *profiler {
	p := &profiler{columns: make([]profile, columns), seed: maphash.MakeSeed()}
	for i := range p.columns {
		p.columns[i].counts = map[string]int{}
		if codes(i) {
			p.columns[i].unique = map[uint64]struct{}{}
		}
	}
	return p
}

// add studies a row. Columns beyond the titled ones are studied too, if they hold anything.
func (p *profiler) add(texts []string) {
	for i := len(p.columns); i < min(len(texts), sheet.MaxColumns); i++ {
		if cells.Clean(texts[i]) != "" {
			p.grow(i + 1)
		}
	}
	for i := range p.columns {
		cell := ""
		if i < len(texts) {
			cell = cells.Clean(texts[i])
		}
		p.columns[i].add(cell, p.seed)
	}
}

func (p *profiler) grow(columns int) {
	rows := 0
	if len(p.columns) > 0 {
		rows = p.columns[0].rows
	}
	for len(p.columns) < columns {
		p.columns = append(p.columns, profile{rows: rows, counts: map[string]int{}})
	}
}

func (p *profile) add(cell string, seed maphash.Seed) {
	p.rows++
	if cell == "" {
		return
	}
	p.filled++
	if p.unique != nil {
		p.unique[maphash.String(seed, cells.WithoutFormat(cell))] = struct{}{}
	}
	before := 0
	if p.counts != nil {
		if before = p.counts[cell]; before == 0 && len(p.counts) == maxDistinct {
			p.counts = nil
		} else {
			p.counts[strings.Clone(cell)]++
		}
	}
	if before == 0 && len(p.samples) < maxSamples && !slices.Contains(p.samples, sample(cell)) {
		p.samples = append(p.samples, sample(cell))
	}
	p.dates.Add(cell)
	if p.counts == nil && p.rows > maxStudied {
		return
	}
	p.study(cell)
}

func (p *profile) study(cell string) {
	p.studied++
	text := words.Plain(cell)
	sign, isNumber := cells.SignOf(cell)
	isWhole := strings.Trim(cell, "0123456789") == ""
	for t, is := range [traits]bool{
		letters: strings.ContainsFunc(cell, unicode.IsLetter),
		digits:  strings.ContainsFunc(cell, unicode.IsDigit),
		ats:     strings.Contains(cell, "@"),
		codes:   codeLike(cell),
		truths:  words.Truths[text] != "" || text == "" && words.TruthOf(cell) != "",
		whole:   isWhole,
		long:    isWhole && len(cell) > 2,
		numbers: isNumber,
		zeros:   isNumber && sign == 0,
		below:   isNumber && sign < 0,
		telling: words.Begins(text, words.TellingValues),
		outs:    words.KeepsOut(text),
	} {
		if is {
			p.has[t]++
		}
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

// sample is a value as a table shows it.
func sample(cell string) string {
	cell = strings.Join(strings.Fields(cell), " ")
	if r := []rune(cell); len(r) > maxSample {
		return string(r[:maxSample-1]) + "…"
	}
	return cell
}

// mostly tells whether more than half of the cells that were looked at have a trait.
func (p *profile) mostly(t trait) bool { return 2*p.has[t] > p.studied }

// all tells whether all of them have it.
func (p *profile) all(t trait) bool { return p.has[t] == p.studied }

// isAmounts tells numbers that are no short codes, 1, 2, 3.
func (p *profile) isAmounts() bool {
	return p.all(numbers) && (p.has[whole] < p.has[numbers] || p.has[long] > 0)
}

// isNumbering tells a column in which every row has a number or code of its own.
func (p *profile) isNumbering() bool {
	return p.filled == p.rows && p.filled > 3 && p.mostly(codes) && p.mostly(digits) && (p.counts == nil || len(p.counts) == p.filled)
}

// Value is one value of a column and in how many rows it stands.
type Value struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// values are the different ones, the most frequent first; nil where there are too many to be a choice.
func (p *profile) values() []Value {
	if p.counts == nil {
		return nil
	}
	var out []Value
	for _, v := range slices.Sorted(maps.Keys(p.counts)) {
		out = append(out, Value{v, p.counts[v]})
	}
	slices.SortStableFunc(out, func(a, b Value) int { return b.Count - a.Count })
	return out
}

// share is how many of the filled cells a test holds for; the column has few values.
func (p *profile) share(is func(value string) bool) (n int) {
	for v, count := range p.counts {
		if is(v) {
			n += count
		}
	}
	return n
}

// isCodes tells whether a column can hold the codes of tickets: it is filled, its values differ, and they look like codes.
func (p *profile) isCodes() bool {
	return p.filled == 0 || 2*p.filled >= p.rows && 2*len(p.unique) > p.filled && (p.filled < 20 || 10*len(p.unique) >= 9*p.filled) &&
		p.mostly(codes)
}
