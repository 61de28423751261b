package load

import (
	"fmt"
	"slices"
	"strings"

	"doorward/api/load/cells"
	"doorward/api/load/kinds"
	"doorward/api/load/words"
)

// Whatever may decide who gets in is either understood or asked about: a column whose title or whose values speak of payment,
// of a cancellation, of a block or of a ticket's validity is never passed over in silence.

// admission finds the columns of a ticket list that decide who is admitted.
type admission struct{ *chooser }

// decide finds the columns of a ticket list that decide who gets in, and asks about those that may.
func (c admission) decide() {
	for i := range c.plains {
		if c.taken[i] || c.plains[i] == "" && c.profiles == nil {
			continue
		}
		d, sure, ask := c.decides(i)
		switch {
		case ask:
			c.ly.questions = append(c.ly.questions, c.question(i))
			c.taken[i] = true
		case sure:
			c.ly.deciders = append(c.ly.deciders, d)
			c.taken[i] = true
		}
	}
	if !slices.ContainsFunc(c.ly.deciders, func(d decider) bool { return d.state == "" || d.state == "unpaid" }) {
		c.askForPayments()
	}
}

// askForRest asks about columns whose title is another field's and that no field took, if they say of somebody what keeps him out.
func (c admission) askForRest() {
	for i, title := range c.plains {
		if c.profiles == nil || c.taken[i] || c.profiles[i].filled == 0 || !c.isKnown(title) {
			continue
		}
		q := c.question(i)
		for _, field := range validities {
			if slices.Contains(words.Titles(field), title) {
				q.Flags = []string{fmt.Sprintf("--map '%s=%s'", field, q.Column), fmt.Sprintf("--ignore '%s'", q.Column)}
				c.ly.questions = append(c.ly.questions, q)
				c.taken[i] = true
			}
		}
		if !c.taken[i] && c.saysOut(&c.profiles[i]) {
			c.ly.questions = append(c.ly.questions, q)
			c.taken[i] = true
		}
	}
}

// validities are the fields by which a ticket is good for a time.
var validities = []string{"valid_from", "valid_until"}

// saysOut tells a column of few values in which one is nothing but a state that keeps somebody out.
func (c admission) saysOut(p *profile) bool {
	return p.share(func(v string) bool {
		s := words.StateOf(v, c.src.States)
		return s != "" && s != words.Severity[0]
	}) > 0
}

// askForTypes asks about types of tickets whose name says that somebody is kept out: Adulto (cancelado).
func (c admission) askForTypes() {
	if c.profiles == nil || len(c.src.OnlyTypes) > 0 {
		return
	}
	for _, f := range c.ly.feeds {
		if f.name != kinds.Type || len(f.parts) != 1 || len(f.parts[0]) != 1 {
			continue
		}
		column := f.parts[0][0]
		var in, out []string
		for _, v := range c.profiles[column].values() {
			if words.KeepsOut(words.Plain(v.Value)) {
				out = append(out, v.Value)
			} else {
				in = append(in, v.Value)
			}
		}
		if len(out) > 0 {
			q := c.question(column)
			q.Text = "names types that may be no admissions"
			q.Flags = []string{
				fmt.Sprintf("--only-type '%s' to leave “%s” out", strings.Join(in, ","), strings.Join(out, "”, “")),
				fmt.Sprintf("--only-type '%s' to let them in", strings.Join(append(in, out...), ",")),
			}
			c.ly.questions = append(c.ly.questions, q)
		}
	}
}

// decides judges one column by its title and its values.
func (c admission) decides(column int) (d decider, sure, ask bool) {
	title := c.plains[column]
	d = deciderOf(column, title)
	own := d.state != "" || slices.Contains(words.Titles(kinds.State), title)
	if c.profiles == nil {
		return d, own, false // the header is still looked for
	}
	p := &c.profiles[column]
	switch {
	case p.filled == 0, c.isPlace(column), slices.Contains(c.origin.others, title):
		return d, false, false
	case own:
		known := p.share(func(v string) bool { return d.means(v, c.src.States) >= 0 })
		return d, 2*known >= p.filled, 2*known < p.filled
	case c.isKnown(title):
		return d, false, false
	case words.IsDebt(title) && p.all(numbers):
		d.state, d.when = "unpaid", whenOwed
		return d, p.has[below] == 0, p.has[below] > 0 // below zero may be a debt or a credit
	case words.Begins(title, words.RefundTitles) && p.all(numbers):
		return d, false, p.has[numbers] > p.has[zeros]
	case words.IsDebt(title) && p.has[letters] > 0 && p.dates == (cells.Evidence{}), words.Tells(title),
		words.Begins(title, words.PayTitles) && p.mostly(truths) && !words.Begins(title, words.MailTitles):
		return c.decidesByValues(d, p)
	}
	return d, false, c.saysOut(p) || 2*p.has[telling] >= p.studied || p.has[outs] > 0 && c.origin == nothing
}

// decidesByValues judges a column whose title speaks of who gets in, but is none that is known.
func (c admission) decidesByValues(d decider, p *profile) (_ decider, sure, ask bool) {
	known := p.share(func(v string) bool { return words.StateOf(v, c.src.States) != "" })
	title := c.plains[d.column]
	dated := p.dates != cells.Evidence{} || p.samples[0] != "" && cells.IsDated(p.samples[0])
	pays := words.Begins(title, words.PayTitles)
	switch {
	case p.counts != nil && 2*known >= p.filled:
		return d, true, false
	case dated && pays, pays && p.isAmounts():
		return d, false, false // when and how much, not whether: see askForPayments
	case dated, p.mostly(truths), words.HasPhrase(title, words.TellingPhrases):
		return d, false, true
	case p.isNumbering():
		return d, false, false
	case p.counts == nil:
		return d, false, 2*p.has[telling] >= p.studied || p.has[outs] > 0
	}
	return d, false, true
}

// isKnown tells a title that names another field of a ticket as nobody would call a state.
func (c admission) isKnown(title string) bool {
	return slices.ContainsFunc(c.ly.form.Known(), func(field string) bool {
		return field != kinds.State && slices.Contains(words.Titles(field), title)
	}) || words.IsCheckin(title)
}

// isPlace tells the state of an address: by its values, or by its neighbours where its values are no states of a ticket.
func (c admission) isPlace(column int) bool {
	p, title := &c.profiles[column], c.plains[column]
	if !words.HasWord(title, []string{"state", "estado", "uf"}) || strings.Contains(title, " ") && slices.Contains(words.Titles(kinds.State), title) {
		return false
	}
	if p.counts != nil && p.share(func(v string) bool { return slices.Contains(words.Places, words.Plain(v)) }) == p.filled {
		return true
	}
	if p.share(func(v string) bool {
		return words.StateOf(v, c.src.States) != "" || words.Truths[words.Plain(v)] != "" || words.Begins(words.Plain(v), words.TellingValues)
	}) > 0 {
		return false
	}
	for i := max(0, column-3); i < min(len(c.plains), column+4); i++ {
		if i != column && words.HasWord(c.plains[i], words.PlaceTitles) {
			return true
		}
	}
	return false
}

// askForPayments asks about dates and amounts of payments that not every row has, where nothing else says who has paid.
func (c admission) askForPayments() {
	if c.profiles == nil {
		return
	}
	for i, title := range c.plains {
		p := &c.profiles[i]
		if c.taken[i] || p.filled == 0 || title == "" {
			continue
		}
		blank := p.rows - p.filled
		none, pays := blank+p.has[zeros], words.Begins(title, words.PayTitles)
		switch {
		case pays && blank > 0 && (words.HasWord(title, words.DateTitles) || cells.IsDated(p.samples[0])),
			pays && p.isAmounts() && none > 0 && none < p.rows,
			words.HasWord(title, words.AmountTitles) && p.all(numbers) && p.has[below] > 0: // money that was given back
			c.ly.questions = append(c.ly.questions, c.question(i))
			c.taken[i] = true
		}
	}
}

// maxAsked is how many values of a column a question shows.
const maxAsked = 12

// Question is a column that may decide who gets in, or who somebody is, and that is not understood: nothing is written before
// whoever imports has said what it means.
type Question struct {
	Column string   `json:"column"`
	Values []Value  `json:"values"` // the most frequent first
	More   int      `json:"more"`   // further ones
	Text   string   `json:"text"`
	Flags  []string `json:"flags"` // what decides it, one of them
}

// Is makes a Question an ErrSource.
func (q *Question) Is(target error) bool { return target == ErrSource }

func (q *Question) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the column “%s” %s", q.Column, q.Text)
	for i, v := range q.Values {
		b.WriteString([]string{": ", ", "}[min(i, 1)])
		fmt.Fprintf(&b, "%s %d", valueText(v.Value), v.Count)
	}
	if q.More > 0 {
		fmt.Fprintf(&b, " and %d more", q.More)
	}
	return b.String() + "; say " + strings.Join(q.Flags, " or ")
}

func valueText(v string) string {
	if v == "" {
		return "(blank)"
	}
	return sample(v)
}

// question asks what a column means for who gets in.
func (c admission) question(column int) *Question {
	name, p := c.ly.nth(column), &c.profiles[column]
	q := &Question{Column: name, Text: "may decide who gets in and is not understood", Values: p.values()}
	if blank := p.rows - p.filled; blank > 0 && q.Values != nil {
		q.Values = append(q.Values, Value{"", blank})
	}
	var unknown []string
	known := 0
	for _, v := range q.Values {
		if words.StateOf(v.Value, c.src.States) != "" {
			known++
		} else if len(unknown) < 3 {
			unknown = append(unknown, v.Value+"=…")
		}
	}
	mapped := fmt.Sprintf("--map 'state=%s'", name)
	if len(unknown) > 0 {
		mapped += fmt.Sprintf(" --states '%s' (each valid, unpaid, blocked, refunded or cancelled)", strings.Join(unknown, ","))
	}
	q.Flags = []string{mapped, fmt.Sprintf("--ignore '%s'", name)}
	if len(q.Values) > maxAsked {
		q.More, q.Values = len(q.Values)-maxAsked, q.Values[:maxAsked]
	}
	return q
}

// askMember asks about a member of NDJSON lines that no table of fields has, if its name or its values may decide on admission.
func askMember(name string, p *profile, src *answers) (*Question, bool) {
	c := admission{&chooser{ly: &layout{header: header{titles: []string{name}}}, src: src, profiles: []profile{*p}}}
	known := p.share(func(v string) bool {
		return words.StateOf(v, src.States) != "" || words.Begins(words.Plain(v), words.TellingValues)
	})
	title := words.Plain(name)
	if p.counts == nil || !words.Tells(title) && !words.IsDebt(title) && !words.Begins(title, words.TellingTitles) && 2*known < p.filled && !c.saysOut(p) {
		return nil, false
	}
	return c.question(0), true
}

// Questions are several at once.
type Questions []*Question

// Is makes them an ErrSource.
func (q Questions) Is(target error) bool { return target == ErrSource }

func (q Questions) Error() string {
	texts := make([]string, len(q))
	for i, one := range q {
		texts[i] = one.Error()
	}
	return strings.Join(texts, "; ")
}
