package columns

import (
	"fmt"
	"slices"
	"strings"

	"doorward/api/load/cells"
	"doorward/api/load/kinds"
	"doorward/api/load/words"
)

// Absence is a column that says which people, or memberships, are not active any more.
type Absence struct {
	Column int
	Reason string // the reason that it gives; "" = none
	title  string
}

// deathDate and leavingDate are the fields of the days on which a person has died or left.
const (
	deathDate   = "death_date"
	leavingDate = "inactive_date"
)

// absence is a reason with the titles of its columns in plain form.
type absence struct {
	reason string
	titles []string
}

// absences are the titles of these columns, by the reason. The day of a death is one too.
var absences = []absence{
	{"death", append(words.Titles(deathDate), "deceased", "is deceased", "falecido", "falecida", "fallecido", "fallecida")},
	{"", []string{"archived", "is archived", "arquivado", "arquivada", "archivado", "archivada", "inactive", "is inactive", "inativo", "inativa", "inactivo", "inactiva",
		"inactive remove"}},
	{"", words.Titles(leavingDate)},
}

// isLeaving tells a day on which a person has left. A column that says who is active outranks it: some come back.
func isLeaving(a Absence) bool { return slices.Contains(words.Titles(leavingDate), a.title) }

// standings are the titles of columns that may say by words which people are active. A field of a person is called status too, and has other words.
var standings = []string{"status", "situacao", "estado", "member status", "mem status", "membership status", "person status", "status do membro", "situacao do membro"}

// endTitles are the titles in plain form of columns that say whether, or when, a membership has ended, beside those of absences.
var endTitles = strings.Split("ended|ended at|end|end date|date ended|left|left at|left on|left date|date left|removed|removed at|date removed|termino|data de termino|fim|data de saida|saida|saiu|saiu em|encerrado em|"+
	"fecha de salida|fecha de baja|fecha de fin|salida|baja|austritt|austrittsdatum|ausgetreten|ausgetreten am|ende|enddatum|date de sortie|sortie|date de depart|date de fin|fin", "|")

// groupStandings are the titles of columns that may say by words which memberships are active, beside standings.
var groupStandings = strings.Split("group status|member state|status no grupo|situacao no grupo|estado en el grupo|gruppenstatus|mitgliedsstatus|statut|etat", "|")

// Means is the yes or no that a cell says: a day says yes, and so does a word of the title. It is "" where the cell says neither.
func (a Absence) Means(cell string) string {
	if slices.Contains(words.Titles(kinds.IsActive), a.title) { // the title says the opposite
		truth := words.TruthOf(cell)
		if truth == "" {
			truth = words.Choices[kinds.IsActive][words.Plain(cell)]
		}
		return map[string]string{"true": "false", "false": "true"}[truth]
	}
	if cells.IsDated(cell) || words.HasWord(a.title, []string{words.Plain(cell)}) {
		return "true"
	}
	return words.TruthOf(cell)
}

// takeAbsences takes the columns of a list of people that say which people are not active. It asks about a column that says so by some of its
// words, and has others that are not known.
func (c *chooser) takeAbsences() {
	for i, title := range c.plains {
		if c.taken[i] || c.origin == OwnOrigin {
			continue
		}
		for _, a := range absences {
			if slices.Contains(a.titles, title) {
				c.ly.Gone = append(c.ly.Gone, Absence{i, a.reason, title})
				c.taken[i] = !slices.Contains(slices.Concat(words.Titles(deathDate), words.Titles(leavingDate)), title)
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
		var out []string
		for _, v := range p.Values() {
			if known[words.Plain(v.Value)] == "false" {
				out = append(out, v.Value)
			}
		}
		c.ly.questions = append(c.ly.questions, newQuestion(name, "may say who is not active and is not understood", p.Values(),
			fmt.Sprintf("--map '%s=%s' if no other words than %s say that a person is not active", kinds.IsActive, name, strings.Join(out, ", "))))
		c.taken[column] = true
	}
}

// takeEnds takes the columns of a list of memberships that say which of them have ended, and one that says their standing by words. It asks about
// one with words that are not known.
func takeEnds(c *chooser) {
	for i, title := range c.plains {
		if c.taken[i] || c.origin == OwnOrigin {
			continue
		}
		isEnd := slices.ContainsFunc(absences, func(a absence) bool { return slices.Contains(a.titles, title) }) ||
			slices.Contains(endTitles, title) || slices.Contains(words.Titles(kinds.IsActive), title)
		switch {
		case isEnd:
			c.ly.Gone = append(c.ly.Gone, Absence{Column: i, title: title})
			c.taken[i] = true
		case slices.Contains(standings, title) || slices.Contains(groupStandings, title):
			takeStandings(c, i)
		}
	}
}

// takeStandings takes a column of words if all of them say whether a membership is approved, or that it has ended.
func takeStandings(c *chooser, column int) {
	if c.profiles == nil {
		return // the header is still looked for
	}
	p := &c.profiles[column]
	known := p.Share(func(v string) bool {
		return words.Choices[kinds.Approved][words.Plain(v)] != "" || cells.IsUnsaid(kinds.Approved, v)
	})
	switch {
	case known == 0 && p.Share(func(v string) bool { return slices.Contains(words.Places, words.Plain(v)) }) == p.Filled: // of an address, or blank
	case known < p.Filled:
		name := c.ly.Name(column)
		c.ly.questions = append(c.ly.questions, newQuestion(name, "may say which memberships have ended and is not understood", p.Values(),
			fmt.Sprintf("--map '%s=%s' to refuse the rows with other words than active, pending and the like", kinds.Approved, name)))
		c.taken[column] = true
	case !c.ly.Has(kinds.Approved):
		c.take(kinds.Approved, "its words", []int{column})
	}
}

// othersAreActive adds the words of a column that the operator has named for who is active, if some of them say that a person is not: all others
// say that a person is.
func othersAreActive(ly *Layout, said map[string]string) {
	f := ly.Feed(kinds.IsActive)
	if f == nil || f.Why != "--map" || len(f.Columns()) != 1 || !slices.Contains(standings, words.PlainTitle(ly.Titles[f.Columns()[0]])) {
		return
	}
	p, known := &ly.Profiles[f.Columns()[0]], words.Choices[kinds.IsActive]
	if p.Share(func(v string) bool { return known[words.Plain(v)] == "false" }) == 0 {
		return
	}
	for v := range p.Counts {
		if known[words.Plain(v)] == "" && words.TruthOf(v) == "" {
			said[kinds.IsActive+"\x00"+v] = "true"
		}
	}
}
