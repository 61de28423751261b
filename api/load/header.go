package load

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"doorward/api/load/cells"
	"doorward/api/load/kinds"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv/record"
)

// feed is one field and the columns that give it. Its parts are joined by a blank; of the columns of a part the first that is
// not blank counts.
type feed struct {
	name  string
	parts [][]int
	why   string
}

func (f *feed) columns() []int { return slices.Concat(f.parts...) }

// answers are what the operator says of a table: the flags that answer questions.
type answers struct {
	From      string            // the system that wrote the file; "" = known by its titles, "none" = none
	Map       map[string]string // field → column, by its title, "Title#2" or "#3"; several with + between them
	Ignore    []string          // columns that are not read
	States    map[string]string // word, in plain form → state of a ticket
	Dates     string            // dmy, mdy or ymd; "" = as the dates of each column show
	OnlyTypes []string          // the types of tickets that are taken; nil = all
	Event     int64             // of all rows; 0 = a column names it
	Checkins  bool              // used tickets are checked in
}

// header is the row of titles.
type header struct {
	row    sheet.Row
	line   int
	titles []string
	full   int // columns of the row, untitled ones at its end too
}

// layout says which column of a table feeds which field.
type layout struct {
	form kinds.Form
	header
	origin    *origin
	feeds     []feed
	deciders  []decider // the columns that say a ticket's state
	checkins  []int     // the columns that say whether and when somebody came in
	torn      []torn
	questions Questions
	orders    map[string]cells.Order
	ignored   []string
	profiles  []profile // nil while the header is looked for
	headings  []heading // above the header
}

// findHeader picks the row that names the most fields, the first of equals, and lays the columns out; nil where none names any.
func findHeader(top []sheet.Row, f kinds.Form, src *answers) *layout {
	var best *layout
	for _, row := range top {
		if row.Fault != "" {
			continue
		}
		ly := lay(row, f, src, nil)
		if n := ly.named(); n > 0 && (best == nil || n > best.named()) {
			best = ly
		}
	}
	for _, row := range top {
		if h, ok := headingOf(row); ok && best != nil && row.Line < best.line {
			best.headings = append(best.headings, h)
		}
	}
	return best
}

// named counts the columns that are understood by their titles.
func (ly *layout) named() int { return len(ly.feeds) + len(ly.deciders) + len(ly.checkins) }

// lay gives each field its columns: those that the map names, those of the origin, and those whose title ranks best among the
// field's words and whose values do not speak against it. Without profiles the titles alone count.
func lay(row sheet.Row, f kinds.Form, src *answers, profiles []profile) *layout {
	ly := &layout{form: f, header: header{row, row.Line, trimRight(row.Texts), len(row.Texts)}, profiles: profiles, orders: map[string]cells.Order{}}
	for len(ly.titles) < len(profiles) { // what stands beyond the titles may decide too
		ly.titles = append(ly.titles, "")
	}
	c := &chooser{ly: ly, src: src, taken: make([]bool, len(ly.titles)), profiles: profiles}
	for _, t := range ly.titles {
		c.plains = append(c.plains, words.PlainTitle(t))
	}
	ly.origin, _ = originNamed(src.From, f) // check has said what is wrong with it
	if ly.origin == nil {
		ly.origin = originOf(f, c.plains)
	}
	if ly.isOwn() {
		ly.origin = ownOrigin
	}
	c.origin = ly.origin
	by := admission{c}
	c.takeMapped()
	c.takeOwn()
	c.takeOrigin()
	if f.Kind == record.Ticket {
		c.takeCheckins()
		by.decide()
	}
	c.takeByTitle()
	c.joinNames()
	if f.Kind == record.Ticket {
		by.askForTypes()
		by.askForRest()
	}
	for i, t := range ly.titles {
		if !c.taken[i] && t != "" && (profiles == nil || profiles[i].filled > 0) {
			ly.ignored = append(ly.ignored, ly.nth(i))
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
func (h *header) find(name string) []int {
	columns := h.titled(name)
	base, number, ok := cutAfter(name, "#")
	n, err := strconv.Atoi(number)
	if len(columns) > 0 || !ok || err != nil || n < 1 {
		return columns
	}
	if base != "" {
		columns = h.titled(base)
		if n > len(columns) {
			return nil
		}
		return columns[n-1 : n]
	}
	if n > len(h.titles) {
		return nil
	}
	return []int{n - 1}
}

// parts are the columns that a map names: one column, or several to be joined, "First Name"+"Last Name"; missing is one that is
// not there.
func (h *header) parts(name string) (parts [][]int, missing string) {
	if columns := h.find(unquoted(name)); len(columns) > 0 {
		return [][]int{columns}, ""
	}
	for one := range strings.SplitSeq(name, "+") {
		columns := h.find(unquoted(one))
		if len(columns) == 0 {
			return nil, unquoted(one)
		}
		parts = append(parts, columns)
	}
	return parts, ""
}

func unquoted(name string) string {
	name = strings.TrimSpace(name)
	if inner, ok := strings.CutPrefix(name, `"`); ok && strings.HasSuffix(inner, `"`) {
		return inner[:len(inner)-1]
	}
	return name
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func cutAfter(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func (h *header) titled(title string) (columns []int) {
	for i, t := range h.titles {
		if t != "" && words.PlainTitle(t) == words.PlainTitle(title) {
			columns = append(columns, i)
		}
	}
	return columns
}

// nth is the name by which a map means a column: its title, or one of several of a title, "Nome#2".
func (h *header) nth(column int) string {
	alike := h.titled(h.column(column))
	if len(alike) < 2 {
		return h.column(column)
	}
	return h.titles[column] + "#" + strconv.Itoa(slices.Index(alike, column)+1)
}

// column is a column's title, or its number where it has none.
func (h *header) column(i int) string {
	if i < len(h.titles) && h.titles[i] != "" {
		return h.titles[i]
	}
	return "#" + strconv.Itoa(i+1)
}

// fed tells whether a column gives the field.
func (ly *layout) fed(field string) bool {
	if field == kinds.State && len(ly.deciders) > 0 {
		return true
	}
	return slices.ContainsFunc(ly.feeds, func(f feed) bool { return f.name == field })
}

// title is the column that a field comes from, for people.
func (ly *layout) title(field string) string {
	for _, f := range ly.feeds {
		if f.name == field {
			return ly.column(f.parts[0][0])
		}
	}
	if field == kinds.State && len(ly.deciders) > 0 {
		return ly.column(ly.deciders[0].column)
	}
	return field
}
