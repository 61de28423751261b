package load

import (
	"cmp"
	"fmt"
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
}

// layout says which column of a table feeds which field.
type layout struct {
	form    form
	line    int
	titles  []string
	full    int // columns of the header row, untitled ones at its end too
	feeds   []feed
	ignored []string
}

// HeaderError says that a table's header does not name what is needed, and which of its columns come nearest.
type HeaderError struct {
	Kind    string
	Line    int      // of the row that looks most like a header; 0 = none does
	Missing []string // fields that no column gives; empty where no header was found at all
	Near    []Near
	Known   []string // the columns that the kind has
}

// Near is a column that may be meant for a field.
type Near struct{ Field, Title string }

// Is makes a HeaderError an ErrSource.
func (e *HeaderError) Is(target error) bool { return target == ErrSource }

func (e *HeaderError) Error() string {
	var b strings.Builder
	if e.Line == 0 {
		fmt.Fprintf(&b, "no header in the first %d rows names a column of kind %s", headerRows, e.Kind)
	} else {
		fmt.Fprintf(&b, "the header in line %d has no column for %s", e.Line, strings.Join(e.Missing, ", "))
	}
	if len(e.Near) == 0 {
		return b.String() + "; the columns are " + strings.Join(e.Known, ", ")
	}
	for i, n := range e.Near {
		b.WriteString([]string{"; nearest is ", ", "}[min(i, 1)])
		fmt.Fprintf(&b, "“%s” for %s", n.Title, n.Field)
	}
	return b.String() + fmt.Sprintf("; say --map '%s=%s' if that is the one", e.Near[0].Field, e.Near[0].Title)
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
	plains := make([]string, len(ly.titles))
	for i, t := range ly.titles {
		plains[i] = plain(t)
	}
	for i := range f.table.Fields {
		name := f.table.Fields[i].Name
		if f.has(name) && name != nameID && mapped[name] == "" {
			ly.match(name, plains, taken)
		}
	}
	if f.field(nameExternal) == nil && mapped[nameExternal] == "" {
		ly.match(nameExternal, plains, taken)
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

// match looks for a field's columns by its words, best word first.
func (ly *layout) match(field string, plains []string, taken []bool) {
	for _, w := range words(field) {
		var columns []int
		for i, p := range plains {
			if p == w && !taken[i] {
				columns = append(columns, i)
			}
		}
		if len(columns) > 0 {
			ly.take(field, columns, taken)
			return
		}
	}
}

func (ly *layout) take(field string, columns []int, taken []bool) {
	ly.feeds = append(ly.feeds, feed{field, columns})
	for _, c := range columns {
		taken[c] = true
	}
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
		if t != "" && plain(t) == plain(title) {
			columns = append(columns, i)
		}
	}
	return columns
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

// check finds what the header lacks: columns that the map names, and columns without which no row can be written. A file
// that names its records by id or external_id may leave everything else out; one of tickets by an external_id that the map
// names, since a title that merely sounds like one may stand over the codes.
func (ly *layout) check(src *Source) error {
	for field, title := range src.Map {
		if len(ly.find(title)) == 0 {
			return fmt.Errorf("%w: --map %s=%s: the header in line %d has no such column%s",
				ErrUsage, field, title, ly.line, didYouMean(title, ly.titles))
		}
	}
	for _, t := range ly.titles {
		if strings.HasPrefix(t, "_") {
			return fmt.Errorf("%w: line %d has a column whose name begins with “_”: such names are the server's own", ErrSource, ly.line)
		}
	}
	missing := ly.missing(src)
	if len(missing) == 0 {
		return nil
	}
	e := &HeaderError{Kind: ly.form.kind.Name, Line: ly.line, Missing: missing, Known: ly.form.known()}
	for _, field := range missing {
		if t, ok := nearest(field, ly.ignored, true); ok {
			e.Near = append(e.Near, Near{field, t})
		}
	}
	return e
}

func (ly *layout) missing(src *Source) (missing []string) {
	ticket := ly.form.kind == record.Ticket
	if ly.fed(nameID) || ly.fed(nameExternal) && (!ticket || src.Map[nameExternal] != "" && src.Event != 0) {
		return nil
	}
	for _, f := range ly.form.table.Fields {
		given := ly.fed(f.Name) || f.Name == nameEvent && src.Event != 0 || f.Name == nameCode && src.Map[nameExternal] != ""
		if ly.form.needs(f.Name) && !given {
			missing = append(missing, f.Name)
		}
	}
	return missing
}

// noHeader is the fault of a table in which no row names any column. Cells that merely stand at the top are not repeated,
// since they may be anybody's data: only those that all but name a column.
func noHeader(top []cells, f form) *HeaderError {
	e := &HeaderError{Kind: f.kind.Name, Known: f.known()}
	for _, row := range top {
		var found []Near
		for _, field := range e.Known {
			if t, ok := nearest(field, trimRight(row.texts), false); ok {
				found = append(found, Near{field, t})
			}
		}
		if len(found) > len(e.Near) {
			e.Near = found
		}
	}
	e.Near = e.Near[:min(len(e.Near), 3)]
	return e
}

// nearest is the title that comes closest to a field's words; a far one only where anything serves.
func nearest(field string, titles []string, anything bool) (string, bool) {
	type candidate struct {
		title string
		far   float64
	}
	var all []candidate
	for _, t := range titles {
		p := plain(t)
		for _, w := range words(field) {
			d, ok := near(p, w)
			if p != "" && (ok && len(p) > 2 || anything) {
				all = append(all, candidate{t, float64(d) / float64(max(len(p), len(w)))})
			}
		}
	}
	if len(all) == 0 {
		return "", false
	}
	return slices.MinFunc(all, func(a, b candidate) int { return cmp.Compare(a.far, b.far) }).title, true
}
