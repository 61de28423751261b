package columns

import (
	"fmt"
	"slices"
	"strings"

	"doorward/api/load/cells"
	"doorward/api/load/kinds"
	"doorward/api/load/words"
)

// Absence is a column that says which people are not active any more.
type Absence struct {
	Column int
	Reason string // the reason that it gives; "" = none
	title  string
}

// absences are the titles of these columns in plain form, by the reason. The day of a death is one too.
var absences = []struct{ reason, titles string }{
	{"death", "deceased|is deceased|falecido|falecida|fallecido|fallecida|" + strings.Join(words.Titles(deathDate), "|")},
	{"", "archived|is archived|arquivado|arquivada|archivado|archivada|inactive|is inactive|inativo|inativa|inactivo|inactiva|inactive remove"},
}

// deathDate is the field of the day on which a person has died.
const deathDate = "death_date"

// standings are the titles of columns that say by a word who is active. A field of a person is called status too, and has other words.
var standings = strings.Split("status|situacao|estado|member status|membership status|person status|status do membro|situacao do membro", "|")

// Means is the yes or no that a cell says: a day says yes, and so does a word of the title. It is "" where the cell says neither.
func (a Absence) Means(cell string) string {
	if cells.IsDated(cell) || words.HasWord(a.title, []string{words.Plain(cell)}) {
		return "true"
	}
	return words.TruthOf(cell)
}

// takeAbsences takes the columns of a list of people that say who is not active, and asks about one that says it of some by words that are not
// all known.
func (c *chooser) takeAbsences() {
	for i, title := range c.plains {
		if c.taken[i] || c.origin == OwnOrigin {
			continue
		}
		for _, a := range absences {
			if slices.Contains(strings.Split(a.titles, "|"), title) {
				c.ly.Gone = append(c.ly.Gone, Absence{i, a.reason, title})
				c.taken[i] = !slices.Contains(words.Titles(deathDate), title)
			}
		}
		if c.profiles != nil && slices.Contains(standings, title) && !c.mapped(kinds.IsActive) {
			c.takeStanding(i)
		}
	}
}

// takeStanding takes a column of words if they say that some are not active.
func (c *chooser) takeStanding(column int) {
	p, known := &c.profiles[column], words.Choices[kinds.IsActive]
	switch {
	case p.Share(func(v string) bool { return known[words.Plain(v)] == "false" }) == 0:
	case p.Share(func(v string) bool { return known[words.Plain(v)] != "" }) == p.Filled && !c.ly.Has(kinds.IsActive):
		c.take(kinds.IsActive, "its words", []int{column})
	default:
		name := c.ly.Name(column)
		q := &Question{Column: name, Text: "may say who is not active and is not understood", Values: p.Values(),
			Flags: []string{fmt.Sprintf("--map '%s=%s' if its words are active and inactive", kinds.IsActive, name), fmt.Sprintf("--ignore '%s'", name)}}
		q.More = max(0, len(q.Values)-MaxAsked)
		q.Values = q.Values[:len(q.Values)-q.More]
		c.ly.questions = append(c.ly.questions, q)
		c.taken[column] = true
	}
}
