package load

import (
	"slices"
	"strings"
)

// matcher gives the columns of a header to the fields by their titles.
type matcher struct {
	ly     *layout
	plains []string // the titles in plain form
	taken  []bool
	mapped map[string]string
}

// torn is a field that two columns of different titles give equally well.
type torn struct{ field, one, other string }

// flag is a yes/no column of tickets that means a state when it says so.
type flag struct {
	column int
	state  string
	when   string // "true" or "false"
}

func (ly *layout) take(field string, columns []int, taken []bool) {
	ly.feeds = append(ly.feeds, feed{name: field, columns: columns})
	for _, c := range columns {
		taken[c] = true
	}
}

// plainTitle is a title's plain form; a # at its end means a number.
func plainTitle(title string) string {
	if t, ok := strings.CutSuffix(strings.TrimSpace(title), "#"); ok {
		return plain(t + " number")
	}
	return plain(title)
}

// match looks for a field's columns: those of the best rank, of these the ones whose title has the most words, of these the
// field's own name. Where different titles are left, those that suit another field go to it.
func (m *matcher) match(field string) {
	for _, words := range ranks(field) {
		columns := m.longest(words)
		if i := slices.IndexFunc(columns, func(c int) bool { return m.plains[c] == plain(field) }); i >= 0 {
			columns = m.alike(columns, columns[i])
		}
		if m.differ(columns) {
			if own := slices.DeleteFunc(slices.Clone(columns), func(c int) bool { return m.suitsAnother(field, c) }); len(own) > 0 {
				columns = own
			}
		}
		if i := slices.IndexFunc(columns, func(c int) bool { return m.plains[c] != m.plains[columns[0]] }); i > 0 {
			m.ly.torn = append(m.ly.torn, torn{field, m.ly.titles[columns[0]], m.ly.titles[columns[i]]})
			columns = m.alike(columns, columns[0])
		}
		if len(columns) > 0 {
			m.ly.take(field, columns, m.taken)
			return
		}
	}
}

// longest are the free columns that are called by one of the words, and by no shorter one than another of them.
func (m *matcher) longest(words []string) (columns []int) {
	most := 0
	for c, p := range m.plains {
		if p == "" || m.taken[c] || !slices.Contains(words, p) {
			continue
		}
		n := len(strings.Fields(p))
		if n > most {
			most, columns = n, nil
		}
		if n == most {
			columns = append(columns, c)
		}
	}
	return columns
}

func (m *matcher) alike(columns []int, one int) []int {
	return slices.DeleteFunc(slices.Clone(columns), func(c int) bool { return m.plains[c] != m.plains[one] })
}

func (m *matcher) differ(columns []int) bool {
	return len(columns) > 0 && len(m.alike(columns, columns[0])) < len(columns)
}

// suitsAnother tells a column that another field of the kind, not fed yet, is called by.
func (m *matcher) suitsAnother(field string, column int) bool {
	return slices.ContainsFunc(m.ly.form.known(), func(name string) bool {
		return name != field && m.mapped[name] == "" && !m.ly.fed(name) && slices.Contains(words(name), m.plains[column])
	})
}

// The titles of names in two parts.
var (
	wholeNames = []string{"nome", "name"} // of the whole name, unless the last name stands beside it
	firstNames = []string{"first name", "primeiro nome", "given name", "attendee first name"}
	lastNames  = []string{"last name", "sobrenome", "ultimo nome", "surname", "family name", "attendee last name"}
)

// joinNames makes one name of first and last name where no column has the whole.
func (m *matcher) joinNames() {
	field := nameHolder
	if m.ly.form.field(field) == nil {
		field = nameFull
	}
	last := m.longest(lastNames)
	if m.ly.form.field(field) == nil || m.mapped[field] != "" || len(last) == 0 {
		return
	}
	first := m.longest(firstNames)
	i := slices.IndexFunc(m.ly.feeds, func(f feed) bool { return f.name == field })
	switch {
	case i < 0 && len(first) == 0:
		return
	case i < 0:
		m.ly.take(field, []int{first[0]}, m.taken)
		i = len(m.ly.feeds) - 1
	case len(first) > 0 || !slices.Contains(wholeNames, m.plains[m.ly.feeds[i].columns[0]]):
		return
	}
	f := &m.ly.feeds[i]
	f.columns, f.joined = []int{f.columns[0], last[0]}, true
	m.taken[last[0]] = true
}

// findFlags finds the yes/no columns of tickets.
func (m *matcher) findFlags() {
	for _, f := range flagTitles {
		for c, p := range m.plains {
			if !m.taken[c] && slices.Contains(strings.Split(f.words, "|"), p) {
				m.ly.flags = append(m.ly.flags, flag{c, f.state, f.when})
				m.taken[c] = true
			}
		}
	}
}
