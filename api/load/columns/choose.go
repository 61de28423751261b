package columns

import (
	"maps"
	"slices"
	"strings"

	"doorward/api/load/cells"
	"doorward/api/load/kinds"
	"doorward/api/load/profile"
	"doorward/api/load/words"
	"doorward/kv/record"
)

// chooser gives the columns of a header to the fields.
type chooser struct {
	ly       *Layout
	said     *Answers
	origin   *Origin
	plains   []string // the titles in plain form
	taken    []bool
	profiles []profile.Column // nil while the header is looked for
}

// torn is a field that two columns of different titles give equally well.
type torn struct{ field, one, other string }

func (c *chooser) take(field, why string, parts ...[]int) {
	c.ly.Feeds = append(c.ly.Feeds, Feed{Name: field, Parts: parts, Why: why})
	for _, columns := range parts {
		for _, i := range columns {
			c.taken[i] = true
		}
	}
}

// takeMapped takes the columns that the operator has named, and leaves out those that are to be ignored.
func (c *chooser) takeMapped() {
	for _, field := range slices.Sorted(maps.Keys(c.said.Map)) {
		parts, missing := c.ly.parts(c.said.Map[field])
		if missing != "" {
			continue // check says so once the header is known
		}
		if field != kinds.State || c.ly.Form.Kind != record.Ticket {
			c.take(field, "--map", parts...)
			continue
		}
		for _, i := range slices.Concat(parts...) {
			c.ly.Deciders = append(c.ly.Deciders, deciderOf(i, c.plains[i]))
			c.taken[i] = true
		}
	}
	for _, title := range c.said.Ignore {
		for _, i := range c.ly.find(title) {
			c.taken[i] = true
		}
	}
}

// takeOrigin takes the columns that are known of the system that wrote the file.
func (c *chooser) takeOrigin() {
	for _, field := range slices.Sorted(maps.Keys(c.origin.columns)) {
		var columns []int
		for _, title := range c.origin.columns[field] {
			for i, p := range c.plains {
				if p == title && !c.taken[i] {
					columns = append(columns, i)
				}
			}
		}
		if len(columns) > 0 && !c.mapped(field) {
			c.take(field, c.origin.Name, columns)
		}
	}
	if i := slices.Index(c.plains, c.origin.IDs); i >= 0 && c.origin.IDs != "" && !c.taken[i] && !c.mapped(kinds.ExternalID) && !c.mapped(kinds.ID) {
		c.take(kinds.ExternalID, c.origin.Name, []int{i})
	}
}

func (c *chooser) mapped(field string) bool { return c.said.Map[field] != "" }

// takeByTitle looks for the columns of all other fields.
func (c *chooser) takeByTitle() {
	if c.ly.Form.Kind == record.Membership && c.origin != OwnOrigin {
		takeNames(c)
	}
	fields := c.ly.Form.Table.Fields
	for i := range fields {
		if name := fields[i].Name; c.ly.Form.Has(name) && name != kinds.ID {
			c.match(name)
		}
	}
	if c.ly.Form.Field(kinds.ExternalID) == nil {
		c.match(kinds.ExternalID)
	}
}

// GiveIDs tells whether a list of memberships gives each group and each person by its id of this server. Names beside them are not read.
func GiveIDs(ly *Layout) bool { return ly.Has(kinds.Person) && ly.Has(kinds.GroupID) }

// takeNames looks for the columns by which a list of memberships names its groups and people. An external id beside no id of a person is the
// person's.
func takeNames(c *chooser) {
	c.match(kinds.Person)
	c.match(kinds.GroupID)
	if GiveIDs(c.ly) {
		return
	}
	for _, one := range c.ly.Form.Naming() {
		c.match(one.Name)
	}
	external := c.longest(words.Titles(kinds.ExternalID), func(int) bool { return true })
	if len(external) > 0 && (c.ly.Has(kinds.Group) || c.ly.Has(kinds.GroupID)) && !c.ly.Has(kinds.Person) && !c.ly.Has(kinds.PersonID) && !c.mapped(kinds.ExternalID) {
		c.take(kinds.PersonID, "its title", c.alike(external, external[0]))
	}
}

// isOwn tells a table that export wrote, in whatever order its columns are now: it names the kind of each row, and only then is an id one
// of ours.
func (ly *Layout) isOwn() bool {
	at := slices.Index(ly.Titles, kinds.Kind)
	if at < 0 || !slices.Contains(ly.Titles, kinds.ID) {
		return false
	}
	if ly.Profiles == nil {
		return true
	}
	p := &ly.Profiles[at]
	return p.Filled == p.Rows && p.Counts[ly.Form.Kind.Name] == p.Filled
}

// takeOwn takes the columns of a table that export wrote, which are named as the fields are. A ticket's state is decided as anywhere.
func (c *chooser) takeOwn() {
	if c.origin != OwnOrigin {
		return
	}
	c.taken[slices.Index(c.ly.Titles, kinds.Kind)] = true // it is read
	for i, title := range c.ly.Titles {
		isState := title == kinds.State && c.ly.Form.Kind == record.Ticket
		if !c.taken[i] && !isState && c.ly.Form.Has(title) && !c.mapped(title) && !(title == kinds.Event && c.said.Event != 0) {
			c.take(title, "an export of ours", []int{i})
		}
	}
}

// match looks for a field's columns: those of the best rank, of these the ones with the most words in the title, of these the
// field's own name. Columns with values that do not fit the field are left out, and blank ones, if there are others.
func (c *chooser) match(field string) {
	if c.mapped(field) || c.ly.Has(field) || field == kinds.State && c.ly.Form.Kind == record.Ticket || field == kinds.Event && c.said.Event != 0 {
		return // --event beats any column
	}
	ranks := words.Ranks(field)
	if field == "phone" && !c.ly.Form.Has("mobile_phone") {
		ranks = append(ranks, words.Ranks("mobile_phone")...)
	}
	for _, blank := range []bool{false, true} {
		for _, titles := range ranks {
			if columns := c.best(field, titles, blank); len(columns) > 0 {
				why := "its title"
				if c.plains[columns[0]] == words.Plain(field) {
					why = "its name"
				}
				c.take(field, why, columns)
				return
			}
		}
	}
}

// best are the columns of one rank that a field takes. Where different titles are left, those that suit another field go to it.
func (c *chooser) best(field string, titles []string, blank bool) []int {
	columns := c.longest(titles, func(i int) bool { return c.isBlank(i) == blank && c.fits(field, i) })
	if i := slices.IndexFunc(columns, func(i int) bool { return c.plains[i] == words.Plain(field) }); i >= 0 {
		columns = c.alike(columns, columns[i])
	}
	if c.differ(columns) {
		if own := slices.DeleteFunc(slices.Clone(columns), func(i int) bool { return c.suitsAnother(field, i) }); len(own) > 0 {
			columns = own
		}
	}
	if i := slices.IndexFunc(columns, func(i int) bool { return c.plains[i] != c.plains[columns[0]] }); i > 0 {
		c.ly.torn = append(c.ly.torn, torn{field, c.ly.Titles[columns[0]], c.ly.Titles[columns[i]]})
		columns = c.alike(columns, columns[0])
	}
	return columns
}

func (c *chooser) isBlank(column int) bool {
	return c.profiles != nil && c.profiles[column].Filled == 0
}

// longest are the free columns that are called by one of the words, and by no shorter one than another of them.
func (c *chooser) longest(titles []string, suits func(column int) bool) (columns []int) {
	most := 0
	for i, p := range c.plains {
		if p == "" || c.taken[i] || !slices.Contains(titles, p) || !suits(i) {
			continue
		}
		n := len(strings.Fields(p))
		if n > most {
			most, columns = n, nil
		}
		if n == most {
			columns = append(columns, i)
		}
	}
	return columns
}

func (c *chooser) alike(columns []int, one int) []int {
	return slices.DeleteFunc(slices.Clone(columns), func(i int) bool { return c.plains[i] != c.plains[one] })
}

func (c *chooser) differ(columns []int) bool {
	return len(columns) > 0 && len(c.alike(columns, columns[0])) < len(columns)
}

// suitsAnother tells a column that another field of the kind, not fed yet, is called by.
func (c *chooser) suitsAnother(field string, column int) bool {
	return slices.ContainsFunc(c.ly.Form.Known(), func(name string) bool {
		return name != field && !c.mapped(name) && !c.ly.Has(name) && slices.Contains(words.Titles(name), c.plains[column])
	})
}

// gender is the field with words that differ by language: M.
const gender = "gender"

// due is a title in plain form of the day on which a bill is due, or a ticket ends.
const due = "vencimento"

// fits tells whether a column's values may be a field's: its title alone proves nothing.
func (c *chooser) fits(field string, column int) bool {
	if c.profiles == nil || c.profiles[column].Filled == 0 {
		return true
	}
	p := &c.profiles[column]
	ticket := c.ly.Form.Kind == record.Ticket
	f := c.ly.Form.Column(field)
	if c.ly.Form.Kind == record.Person && f != nil && field != kinds.FullName && field != kinds.Church {
		return c.fitsPerson(field, f, column)
	}
	switch {
	case ticket && field == kinds.Code:
		return p.IsCodes()
	case ticket && field == kinds.ExternalID && c.plains[column] != words.Plain(field) && p.Counts != nil && 2*len(p.Counts) <= p.Filled:
		return false // a type of tickets has an id too
	case ticket && c.plains[column] == due:
		return false // askForRest asks
	case f != nil && !c.understands(field, f, p):
		return false
	case field == kinds.Person && !p.Mostly(profile.Whole):
		return false // names, where ids are wanted
	case f == nil || c.plains[column] == words.Plain(field):
		return true // called by the very name
	case slices.Contains(cells.PersonNames, field) && (ticket || field == kinds.FullName):
		return p.Mostly(profile.Letters) && !p.Mostly(profile.Ats)
	case field == kinds.Email:
		return p.Mostly(profile.Ats)
	case field == kinds.Church && isChurchTitle(c.plains[column]):
		return true // by name
	}
	switch f.Type.(type) {
	case record.Phone:
		return p.Mostly(profile.Digits) && !p.Mostly(profile.Ats)
	case record.Ref:
		return p.Mostly(profile.Whole)
	}
	return true
}

// fitsPerson tells whether a column's values may be a field of a person. Cells that say nothing, as - and n/a, do not count. A column called Leader
// may name the leader of each, one called Baptism may say yes or no, and one called Location a place.
func (c *chooser) fitsPerson(field string, f *record.Field, column int) bool {
	p := &c.profiles[column]
	says := p.Filled - p.Has[profile.Nothings]
	mostly := func(t profile.Trait) bool { return 2*p.Has[t] > says }
	named := c.plains[column] == words.Plain(field)
	if says <= 0 && !p.Mostly(profile.Truths) {
		return true
	}
	switch f.Type.(type) {
	case record.Bool:
		return field == kinds.IsActive || p.Mostly(profile.Truths)
	case record.Date:
		return !p.Mostly(profile.Truths)
	case record.Object:
		return !slices.ContainsFunc(p.Samples, func(one string) bool { return !strings.HasPrefix(one, "{") })
	case record.Email:
		return named || mostly(profile.Ats)
	case record.Phone:
		return named || mostly(profile.Digits) && !mostly(profile.Ats)
	case record.Ref:
		return named || p.Mostly(profile.Whole)
	}
	return c.understands(field, f, p)
}

// understands tells whether a column of choices holds any that are known; --map insists.
func (c *chooser) understands(field string, f *record.Field, p *profile.Column) bool {
	of, ok := f.Type.(record.Choice)
	if !ok || strings.Contains(field, "_") || p.Counts == nil {
		return true
	}
	reader := cells.Reader{Words: map[string]string{}}
	known := p.Share(func(v string) bool {
		return slices.Contains(of, reader.Choice(field, of, v)) || c.ly.Form.Kind == record.Person && cells.IsUnsaid(field, v)
	})
	return 2*known >= p.Filled
}

// familyNames are the columns called Name, Nom or Last beside a first name in that language: there it means the last name alone.
func (c *chooser) familyNames(field string) []int {
	for first, family := range map[string]string{"vorname": "name", "prenom": "nom", "first": "last"} {
		i := slices.Index(c.plains, family)
		if i < 0 || !slices.Contains(c.plains, first) || c.mapped(field) {
			continue
		}
		whole := func(f Feed) bool { return f.Name == field && slices.Contains(f.Columns(), i) }
		if c.ly.Has(field) && !slices.ContainsFunc(c.ly.Feeds, whole) {
			continue // another column has the whole name
		}
		c.ly.Feeds = slices.DeleteFunc(c.ly.Feeds, whole)
		return []int{i}
	}
	return nil
}

// Letters are the cells of a choice that only their column explains, as cells.Reader knows words: field and cell → value. Beside H, M is a woman
// (mulher, mujer). Beside H and F it says neither. Beside words for people who are not active, others are of those who are, if the operator says so.
func Letters(ly *Layout) map[string]string {
	said := map[string]string{}
	othersAreActive(ly, said)
	f := ly.Feed(gender)
	if f == nil || len(f.Columns()) != 1 || ly.Origin == OwnOrigin {
		return said
	}
	p := &ly.Profiles[f.Columns()[0]]
	has := func(letter string) bool { return p.Share(func(v string) bool { return words.Plain(v) == letter }) > 0 }
	if !has("h") {
		return said
	}
	woman := "female"
	if has("f") {
		woman = ""
	}
	for v := range p.Counts {
		if words.Plain(v) == "m" {
			said[gender+"\x00"+v] = woman
		}
	}
	return said
}

// joinNames makes one name of first, middle and last name where no column has the whole.
func (c *chooser) joinNames() {
	field := kinds.HolderName
	if c.ly.Form.Column(field) == nil {
		field = kinds.FullName
	}
	if GiveIDs(c.ly) {
		return
	}
	any := func(int) bool { return true }
	last := c.longest(words.LastNames, any)
	if len(last) == 0 {
		last = c.familyNames(field)
	}
	if c.ly.Form.Column(field) == nil || c.mapped(field) || len(last) == 0 {
		return
	}
	first := slices.Concat(c.longest(words.GivenNames, any), c.longest(words.FirstNames, any))
	i := slices.IndexFunc(c.ly.Feeds, func(f Feed) bool { return f.Name == field })
	switch {
	case i < 0 && len(first) == 0:
		return
	case i >= 0 && (len(first) > 0 || !slices.Contains(words.WholeNames, c.plains[c.ly.Feeds[i].Parts[0][0]])):
		return
	case i >= 0:
		first = c.ly.Feeds[i].Parts[0]
		c.ly.Feeds = slices.Delete(c.ly.Feeds, i, i+1)
	}
	parts := [][]int{first}
	if middle := c.longest(words.MiddleNames, any); len(middle) > 0 {
		parts = append(parts, middle)
	}
	c.take(field, "first and last name", append(parts, last)...)
}
