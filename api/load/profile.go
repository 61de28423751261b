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

// profile is what the cells of one column look like.
type profile struct {
	rows    int
	filled  int
	studied int            // filled cells that the counts below are about
	counts  map[string]int // by value; nil where there are more than maxDistinct
	samples []string       // the first values, as people see them
	letters int            // cells with a letter
	digits  int            // cells with a digit
	ats     int            // cells with an @
	codes   int            // cells that may be a code
	truths  int            // yes or no
	whole   int            // integers
	numbers int            // amounts
	zeros   int            // of these, those of nothing
	below   int            // and those below zero
	long    int            // whole numbers of more than two digits
	telling int            // cells that begin as words for states do
	outs    int            // cells with a word that keeps somebody out
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
	if strings.ContainsFunc(cell, unicode.IsLetter) {
		p.letters++
	}
	if strings.ContainsFunc(cell, unicode.IsDigit) {
		p.digits++
	}
	if strings.Contains(cell, "@") {
		p.ats++
	}
	if codeLike(cell) {
		p.codes++
	}
	text := words.Plain(cell)
	if words.Truths[text] != "" || text == "" && words.TruthOf(cell) != "" {
		p.truths++
	}
	if words.Begins(text, words.TellingValues) {
		p.telling++
	}
	if words.KeepsOut(text) {
		p.outs++
	}
	if strings.Trim(cell, "0123456789") == "" {
		p.whole++
		if len(cell) > 2 {
			p.long++
		}
	}
	if sign, ok := cells.SignOf(cell); ok {
		p.numbers++
		switch {
		case sign == 0:
			p.zeros++
		case sign < 0:
			p.below++
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

// mostly tells whether a count is true of more than half of the cells that were looked at.
func (p *profile) mostly(n int) bool { return 2*n > p.studied }

// isAmounts tells numbers that are no short codes, 1, 2, 3.
func (p *profile) isAmounts() bool {
	return p.numbers == p.studied && (p.whole < p.numbers || p.long > 0)
}

// isNumbering tells a column in which every row has a number or code of its own.
func (p *profile) isNumbering() bool {
	return p.filled == p.rows && p.filled > 3 && p.mostly(p.codes) && p.mostly(p.digits) && (p.counts == nil || len(p.counts) == p.filled)
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
		p.mostly(p.codes)
}
