package load

import (
	"slices"
	"strconv"
	"strings"

	"doorward/kv/record"
)

// headerRows is how many rows from the top are looked at for the header.
const headerRows = 50

// feed is one field and the columns that give it: of several the first that is not blank counts.
type feed struct {
	name    string
	columns []int
	joined  bool // first and last name: both count
}

// layout says which column of a table feeds which field.
type layout struct {
	form    form
	line    int
	titles  []string
	full    int // columns of the header row, untitled ones at its end too
	feeds   []feed
	flags   []flag
	torn    []torn
	ignored []string
}

// findHeader picks the row that names the most fields, the first of equals, and lays the columns out; nil where none names any.
func findHeader(top []cells, f form, src *Source) *layout {
	var best *layout
	for _, row := range top {
		if row.fault != "" {
			continue
		}
		if ly := lay(row, f, src.Map); len(ly.feeds) > 0 && (best == nil || len(ly.feeds) > len(best.feeds)) {
			best = ly
		}
	}
	return best
}

// lay gives each field the columns whose title ranks best among its words; the map goes before.
func lay(row cells, f form, mapped map[string]string) *layout {
	ly := &layout{form: f, line: row.line, titles: trimRight(row.texts), full: len(row.texts)}
	taken := make([]bool, len(ly.titles))
	for field, title := range mapped {
		columns := ly.find(title)
		if len(columns) == 0 {
			continue // check says so once the header is known
		}
		ly.take(field, columns, taken)
	}
	m := matcher{ly: ly, taken: taken, mapped: mapped}
	for _, t := range ly.titles {
		m.plains = append(m.plains, plainTitle(t))
	}
	for i := range f.table.Fields {
		name := f.table.Fields[i].Name
		if f.has(name) && name != nameID && mapped[name] == "" {
			m.match(name)
		}
	}
	if f.field(nameExternal) == nil && mapped[nameExternal] == "" {
		m.match(nameExternal)
	}
	m.joinNames()
	if f.kind == record.Ticket {
		m.findFlags()
	}
	for i, t := range ly.titles {
		if !taken[i] && t != "" {
			ly.ignored = append(ly.ignored, t)
		}
	}
	return ly
}

func trimRight(texts []string) []string {
	out := make([]string, len(texts))
	n := 0
	for i, t := range texts {
		if out[i] = strings.TrimSpace(t); out[i] != "" {
			n = i + 1
		}
	}
	return out[:n]
}

// find answers the columns that a map names: all of one title, the second of one title ("Nome#2"), or the n-th of all ("#3").
func (ly *layout) find(name string) []int {
	columns := ly.titled(name)
	base, number, ok := cutAfter(name, "#")
	n, err := strconv.Atoi(number)
	if len(columns) > 0 || !ok || err != nil || n < 1 {
		return columns
	}
	if base != "" {
		columns = ly.titled(base)
		if n > len(columns) {
			return nil
		}
		return columns[n-1 : n]
	}
	if n > len(ly.titles) {
		return nil
	}
	return []int{n - 1}
}

func cutAfter(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func (ly *layout) titled(title string) (columns []int) {
	for i, t := range ly.titles {
		if t != "" && plainTitle(t) == plainTitle(title) {
			columns = append(columns, i)
		}
	}
	return columns
}

// nth is the name by which a map means one of several columns of a title: "Nome#2".
func (ly *layout) nth(column int) string {
	return ly.titles[column] + "#" + strconv.Itoa(slices.Index(ly.titled(ly.titles[column]), column)+1)
}

// fed tells whether a column gives the field.
func (ly *layout) fed(field string) bool {
	return slices.ContainsFunc(ly.feeds, func(f feed) bool { return f.name == field })
}

// title is the column that a field comes from, for people.
func (ly *layout) title(field string) string {
	for _, f := range ly.feeds {
		if f.name == field {
			return ly.column(f.columns[0])
		}
	}
	return field
}

// column is a column's title, or its number where it has none.
func (ly *layout) column(i int) string {
	if i < len(ly.titles) && ly.titles[i] != "" {
		return ly.titles[i]
	}
	return "#" + strconv.Itoa(i+1)
}
