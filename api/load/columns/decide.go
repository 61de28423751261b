package columns

import (
	"fmt"
	"slices"
	"strings"

	"doorward/api/load/cells"
	"doorward/api/load/kinds"
	"doorward/api/load/profile"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
)

// A column that may decide on admission is understood or asked about: a title or values that speak of payment, of a cancellation,
// of a block or of a ticket's validity are never left out silently.

// Strictest is the place in severity of what the columns say; -1 where none says anything.
func (ly *Layout) Strictest(texts []string, own map[string]string) int {
	worst := -1
	for _, by := range ly.Deciders {
		if by.Column < len(texts) {
			worst = max(worst, by.Means(cells.Clean(texts[by.Column]), own))
		}
	}
	return worst
}

// admission finds the columns of a ticket list that decide on admission.
type admission struct{ *chooser }

// takeCheckins takes the columns that say whether a ticket was used. It asks about one with a word that refuses admission.
func (c admission) takeCheckins() {
	for i, title := range c.plains {
		switch {
		case c.taken[i] || !words.IsCheckin(title):
		case c.profiles != nil && (c.profiles[i].Has[profile.Outs] > 0 || c.saysOut(&c.profiles[i])):
			c.ask(c.question(i), i)
		default:
			c.ly.Checkins = append(c.ly.Checkins, i)
			c.taken[i] = true
		}
	}
}

// decide finds the columns that decide, and asks about those that may.
func (c admission) decide() {
	var others []int // that say nothing of a ticket beside a state
	for i := range c.plains {
		if c.taken[i] || c.plains[i] == "" && c.profiles == nil {
			continue
		}
		d, sure, ask := c.decides(i)
		switch {
		case ask && (saysNo(c.plains[i], &c.profiles[i]) || saysWays(c.plains[i], &c.profiles[i], c.said)):
			others = append(others, i)
		case ask:
			c.ask(c.question(i), i)
		case sure:
			c.ly.Deciders = append(c.ly.Deciders, d)
			c.taken[i] = true
		}
	}
	if !c.isStated() {
		for _, i := range others {
			c.ask(c.question(i), i)
		}
	}
	if c.profiles != nil && !slices.ContainsFunc(c.ly.Deciders, c.saysPayment) {
		c.askForPayments()
		c.askForTicks()
		c.askForLanguage()
	}
	if !c.isStated() {
		c.keepBlank()
	}
	askForOccasions(c)
}

// saysNo tells a column that says no of every row to what is still to come, or keeps guests out: Credenciado, Lista de espera.
func saysNo(title string, p *profile.Column) bool {
	out, _ := words.Heading(title)
	return (out || words.HasWord(title, accredited)) && p.Share(func(v string) bool { return words.TruthOf(v) == "false" }) == p.Filled
}

// saysWays tells a column of payments that says in each cell how one was made. See askForPayments for its blank cells.
func saysWays(title string, p *profile.Column, said *Answers) bool {
	return words.IsPayment(title) && p.All(profile.Ways) && p.Share(func(v string) bool { return words.StateOf(v, said.States) != "" }) == 0
}

// accredited are the words in titles of columns that say which guests have been accredited at the event.
var accredited = strings.Fields("credenciado credenciada credenciados acreditado acreditada")

// isStated tells whether a column says states, or which tickets are not paid.
func (c admission) isStated() bool {
	return slices.ContainsFunc(c.ly.Deciders, func(d Decider) bool { return d.State == "" || d.State == "unpaid" })
}

// saysPayment tells a column that says what is paid: by its title or one of its words. The operator may say that a column does, and a known
// system lets nobody in before.
func (c admission) saysPayment(d Decider) bool {
	if d.State != "" {
		return d.State == "unpaid"
	}
	return c.origin != Unknown || c.mapped(kinds.State) || words.IsPaid(c.plains[d.Column]) ||
		c.profiles[d.Column].Share(func(v string) bool { return words.SpeaksOfPayment(words.Plain(v)) }) > 0
}

// ask asks about a column, which no field takes then.
func (c admission) ask(q *Question, column int) {
	c.ly.questions = append(c.ly.questions, q)
	c.taken[column] = true
}

// keepBlank lets a column that says a state, and is blank in every row, decide: a row without a state is refused.
func (c admission) keepBlank() {
	if c.profiles == nil {
		return
	}
	for i, title := range c.plains {
		p, d := &c.profiles[i], deciderOf(i, title)
		isState := slices.Contains(words.Titles(kinds.State), title) || d.State == "unpaid"
		if !c.taken[i] && p.Filled == 0 && p.Rows > 0 && isState && !c.isPlace(i) && !c.origin.isOther(title) {
			c.ly.Deciders = append(c.ly.Deciders, d)
			c.taken[i] = true
		}
	}
}

// askForRest asks about columns with the title of another field that no field took, if a value of theirs refuses admission.
func (c admission) askForRest() {
	for i, title := range c.plains {
		if c.profiles == nil || c.taken[i] || c.profiles[i].Filled == 0 || !c.isKnown(title) {
			continue
		}
		q := c.question(i)
		for _, field := range validities {
			if slices.Contains(words.Titles(field), title) {
				q.Flags = []string{fmt.Sprintf("--map '%s=%s'", field, q.Column), fmt.Sprintf("--ignore '%s'", q.Column)}
				c.ask(q, i)
			}
		}
		if !c.taken[i] && c.saysOut(&c.profiles[i]) {
			c.ask(q, i)
		}
	}
}

// validities are the fields by which a ticket is good for a time.
var validities = []string{"valid_from", "valid_until"}

// saysOut tells a column in which a cell is only a state that refuses admission. Of few values it is known what --states says of them.
func (c admission) saysOut(p *profile.Column) bool {
	if p.Counts == nil {
		return p.Has[profile.States] > 0
	}
	return p.Share(func(v string) bool { return words.Refuses(words.StateOf(v, c.said.States)) }) > 0
}

// askForTypes asks about types of tickets with a name that refuses admission, Adulto (cancelado), and about types for different days.
func (c admission) askForTypes() {
	if c.profiles == nil || len(c.said.OnlyTypes) > 0 {
		return
	}
	for _, f := range c.ly.Feeds {
		if f.Name != kinds.Type || len(f.Parts) != 1 || len(f.Parts[0]) != 1 {
			continue
		}
		column := f.Parts[0][0]
		var in, out []string
		named := map[string]bool{}
		for _, v := range c.profiles[column].Values() {
			if words.NameKeepsOut(v.Value) || words.Refuses(words.StateOf(v.Value, c.said.States)) {
				out = append(out, v.Value)
			} else {
				in = append(in, v.Value)
			}
			o := occasionOf(v.Value)
			named[o.days[0]+o.name] = true
		}
		q := c.question(column)
		if len(named) > 1 {
			q.Text = "names types for different days"
			q.Flags = []string{fmt.Sprintf("--only-type '%s' to let all in, or only those of the event", strings.Join(append(in, out...), ","))}
			c.ly.questions = append(c.ly.questions, q)
		} else if len(out) > 0 {
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
func (c admission) decides(column int) (d Decider, sure, ask bool) {
	title := c.plains[column]
	d = deciderOf(column, title)
	own := d.State != "" || slices.Contains(words.Titles(kinds.State), title)
	if c.profiles == nil {
		return d, own, false // the header is still looked for
	}
	p := &c.profiles[column]
	isMoney, _ := words.IsMoney(title)
	isRefund, _ := words.IsUndoing(title)
	switch {
	case p.Filled == 0, c.isPlace(column):
		return d, false, false
	case title == "":
		return d, false, true // of what, no title says
	case c.origin.isOther(title):
		return d, false, c.saysOut(p) || p.Has[profile.Outs] > 0 || c.origin.saysMore(title, p)
	case own:
		known := p.Share(func(v string) bool { return d.Means(v, c.said.States) >= 0 })
		return d, 2*known >= p.Filled, 2*known < p.Filled
	case c.isKnown(title):
		return d, false, false
	case words.IsDebt(title) && p.IsSums():
		d.State, d.when = "unpaid", whenOwed
		return d, p.Has[profile.Below] == 0, p.Has[profile.Below] > 0 // below zero may be a debt or a credit
	case isRefund && (p.IsSums() || !words.Tells(title)):
		return d, false, p.Says() > p.Has[profile.Zeros]
	case isMoney && p.IsSums() && p.Has[profile.Below] > 0:
		return d, false, true // money that was given back
	case words.HasWord(title, words.CountTitles) && p.Mostly(profile.Numbers):
		return d, false, lacksTicket(p)
	case words.IsDebt(title) && p.Says() > 0, words.Tells(title), words.IsPayment(title) && p.Mostly(profile.Truths):
		return c.decidesByValues(d, p)
	}
	return d, false, c.asksByValues(column)
}

// lacksTicket tells a column of quantities in which a row has no ticket, or one that was taken back.
func lacksTicket(p *profile.Column) bool {
	return !p.All(profile.Numbers) || p.Has[profile.Zeros]+p.Has[profile.Below] > 0
}

// isOther tells a title that is known to be of another matter in the exports of this system.
func (o *Origin) isOther(title string) bool {
	_, ok := o.others[title]
	return ok
}

// saysMore tells a column of that kind in which only some words are known to be of another matter, and a cell that has none of them.
func (o *Origin) saysMore(title string, p *profile.Column) bool {
	known := o.others[title]
	return known != nil && p.Share(func(v string) bool { return slices.Contains(known, words.Plain(v)) }) < p.Filled
}

// asksByValues tells a column under a title of another matter that is asked about for its values. Remarks of a known system are read row by row.
func (c admission) asksByValues(column int) bool {
	p := &c.profiles[column]
	out, tells := c.saysOut(p) || p.Has[profile.Others] > 0 && 2*p.Has[profile.Others] < p.Rows, 2*p.Has[profile.Telling] >= p.Filled
	switch {
	case c.origin == Unknown:
		return out || tells || p.Has[profile.Outs] > 0
	case 2*p.Filled >= p.Rows && (out || tells): // a remark is not made on most tickets
		return true
	case out || tells || p.Has[profile.Outs] > 0:
		c.ly.Remarks = append(c.ly.Remarks, Remarks{column, tells})
	}
	return false
}

// decidesByValues judges a column with an unknown title that speaks of admission.
func (c admission) decidesByValues(d Decider, p *profile.Column) (_ Decider, sure, ask bool) {
	known := p.Share(func(v string) bool { return words.StateOf(v, c.said.States) != "" })
	title := c.plains[d.Column]
	dated := p.Dates != cells.Evidence{} || p.Has[profile.Days] > 0
	pays := words.IsPaid(title)
	_, undoes := words.IsUndoing(title)
	switch {
	case undoes && p.Has[profile.Oks] > 0:
		return d, false, true // is it a refund that is completed, or a ticket
	case p.Counts != nil && 2*known >= p.Filled:
		return d, true, false
	case dated && pays, pays && p.IsAmounts():
		return d, false, false // when and how much, not whether: see askForPayments
	case dated, p.Mostly(profile.Truths), words.TellsByPhrase(title):
		return d, false, true
	case p.IsNumbering():
		return d, false, lacksProof(p)
	case p.Counts == nil:
		return d, false, 2*p.Has[profile.Telling] >= p.Filled || p.Has[profile.Outs] > 0
	}
	return d, false, true
}

// isKnown tells a title of another field of a ticket, which is never the title of a state.
func (c admission) isKnown(title string) bool {
	return slices.ContainsFunc(c.ly.Form.Known(), func(field string) bool {
		return field != kinds.State && slices.Contains(words.Titles(field), title)
	}) || words.IsCheckin(title)
}

// isPlace tells the state of an address: by its values, or by its neighbours where its values are no states of a ticket.
func (c admission) isPlace(column int) bool {
	p, title := &c.profiles[column], c.plains[column]
	if !words.HasWord(title, []string{"state", "estado", "uf", "st"}) || strings.Contains(title, " ") && slices.Contains(words.Titles(kinds.State), title) {
		return false
	}
	if p.Counts != nil && p.Filled > 0 && p.Share(func(v string) bool { return slices.Contains(words.Places, words.Plain(v)) }) == p.Filled {
		return true
	}
	if p.Share(func(v string) bool {
		return words.StateOf(v, c.said.States) != "" || words.Truths[words.Plain(v)] != "" || words.Telling(words.Plain(v))
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

// askForPayments asks about dates, amounts, receipts, instalments and places in a queue that not every row has, about what is paid later,
// and about what is not the price, where no other column says what is paid.
func (c admission) askForPayments() {
	for i, title := range c.plains {
		p := &c.profiles[i]
		if c.taken[i] || p.Filled == 0 || title == "" {
			continue
		}
		blank := p.Rows - p.Filled + p.Has[profile.Nothings]
		none := blank + p.Has[profile.Zeros]
		isMoney, sure := words.IsMoney(title)
		isProof, isPart := words.IsProof(title)
		switch {
		case !c.isKnown(title) && p.Has[profile.Sums] > 0,
			words.IsPaid(title) && (lacksPayment(title, p) || p.NotPrice > 0),
			words.IsAdvance(title) && p.IsSums() && len(p.Counts) != 1 && !slices.ContainsFunc(c.plains, words.IsPrice), // parts of what price
			(sure && p.IsSums() || isMoney && p.IsAmounts()) && blank > 0,                                               // nothing, and not an amount of nothing
			(sure || isMoney) && p.Mostly(profile.Numbers) && !p.IsSums(),                                               // an amount in words
			words.IsQueue(title) && blank > 0,
			isProof && (none > 0 && none < p.Rows || lacksProof(p) || isPart && p.DiffersInParts()),
			c.lacksWay(title, p):
			c.ask(c.question(i), i)
		case (words.IsPaid(title) || isPart) && isPromised(c, title, p):
			q := c.question(i)
			if order, _ := orderOf(p, c.origin, c.said); order == "" {
				q.Flags = append([]string{"--dates dmy", "--dates mdy"}, q.Flags...)
			}
			c.ask(q, i)
		}
	}
}

// lacksPayment tells a column of what was paid, when or how, by which some rows have not paid, or which leaves that open. Among dates and among
// amounts only these say that something is paid, and words like free. An amount is no way to pay.
func lacksPayment(title string, p *profile.Column) bool {
	paid := p.Filled - p.Has[profile.Nothings]
	said := paid
	switch {
	case p.Has[profile.Days] > 0 && (words.HasWord(title, words.DateTitles) || p.Mostly(profile.Days)):
		paid = p.Has[profile.Days] + p.Has[profile.Oks]
	case words.HasWord(title, words.AmountTitles), words.IsAdvance(title), p.Mostly(profile.Numbers):
		paid = p.Has[profile.Paids]
	case p.Mostly(profile.Letters):
		paid -= p.Has[profile.Numbers]
	}
	all, none := paid == p.Rows, paid == 0 && said == p.Has[profile.Zeros]
	return !all && !none || p.Has[profile.Doubts] > 0
}

// isPromised tells a column in which a day of payment is still to come.
func isPromised(c admission, title string, p *profile.Column) bool {
	isDay := words.HasWord(title, words.DateTitles) || !p.All(profile.Numbers) // 50000 may be a price
	order, _ := orderOf(p, c.origin, c.said)
	return isDay && p.Latest(order) > c.said.Today
}

// lacksWay tells a column of ways to pay, under whatever title, in which a cell is none: Invoice, Offline.
func (c admission) lacksWay(title string, p *profile.Column) bool {
	paid := p.Has[profile.Ways] + p.Has[profile.Oks]
	if slices.Contains(words.Titles("payment_method"), title) {
		return paid+p.Has[profile.Nothings] < p.Filled // lacksPayment asks about blanks
	}
	return p.Mostly(profile.Ways) && paid < p.Rows && !c.isKnown(title)
}

// lacksProof tells a column of receipts and the like in which a cell has no number where most have one, or leaves open what is paid.
func lacksProof(p *profile.Column) bool {
	bare := p.Filled - p.Has[profile.Digits] - p.Has[profile.Nothings] - p.Has[profile.Oks]
	return p.Has[profile.Doubts] > 0 || p.Mostly(profile.Digits) && bare > 0
}

// askForTicks asks about columns of yes and no that differ from row to row, where no column says a state and --states does not say it of all
// rows. A question to the guest, and what is asked of guests as a rule, is left out. In another language or script no title is known: a
// column of yes and no, or of few values, or with blanks, may say there what is paid, also beside a state that does not. So may one that sorts the
// rows, by words, colours or signs, under any title of no known matter, if no column says a state.
func (c admission) askForTicks() {
	if _, all := c.said.States[""]; all || c.profiles == nil || c.origin != Unknown {
		return
	}
	stated := c.isStated()
	unread := !stated && !slices.ContainsFunc(c.plains, words.IsOfOtherLanguage) // askForLanguage asks then
	for i := range c.plains {
		p := &c.profiles[i]
		yes, any := words.IsAboutGuests(c.ly.Titles[i])
		ticks := p.IsYesOrNo() && !yes ||
			words.AsksToCome(c.plains[i]) && p.Has[profile.Truths] > 0 && p.IsChoice() // yes, no and perhaps
		ticks = ticks && (!stated || p.Share(words.IsForeignTruth) > 0)
		parts := p.IsChoice() || p.Filled > 0 && p.Filled < p.Rows || p.Has[profile.Zeros] > 0 // some rows from others
		sorts := unread && !any && p.Sorts() && (!p.IsYesOrNo() || p.Share(words.IsForeignTruth) > 0)
		if !c.taken[i] && (ticks || sorts || words.IsForeign(c.plains[i]) && parts) {
			c.ask(c.question(i), i)
		}
	}
}

// askForLanguage asks about a list with a title in another language, if nothing else is asked: none of its words for what is paid are known here.
func (c admission) askForLanguage() {
	if _, all := c.said.States[""]; all || c.origin != Unknown || len(c.ly.questions) > 0 {
		return
	}
	if i := slices.IndexFunc(c.plains, words.IsOfOtherLanguage); i >= 0 {
		c.ly.questions = append(c.ly.questions, &Question{
			Column: c.ly.Name(i), Text: "has a title in a language of which no words for states are known here, and no column that is understood says who has paid",
			Flags: []string{"--map 'state=COLUMN' --states 'WORD=valid,OTHER=unpaid' if a column does", "--states '=valid' if all rows get in"},
		})
	}
}

// MaxAsked is how many values of a column a question shows.
const MaxAsked = 12

// Question is a column that may decide on admission or on an identity, and that is not understood: nothing is written before
// the operator has said what it means.
type Question struct {
	Column string          `json:"column"`
	Values []profile.Value `json:"values"` // the most frequent first
	More   int             `json:"more"`   // further ones
	Text   string          `json:"text"`
	Flags  []string        `json:"flags"` // what decides it, one of them
}

// text is the question as a sentence.
func (q *Question) text() string {
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
	return profile.Sample(v)
}

// question asks what a column means for admission.
func (c admission) question(column int) *Question {
	name, p := c.ly.Name(column), &c.profiles[column]
	values := p.Values()
	if blank := p.Rows - p.Filled; blank > 0 && values != nil {
		values = append(values, profile.Value{Count: blank})
	}
	var unknown []string
	for _, v := range values {
		if len(unknown) < 3 && words.StateOf(v.Value, c.said.States) == "" {
			unknown = append(unknown, v.Value+"=…")
		}
	}
	mapped := fmt.Sprintf("--map 'state=%s'", name)
	if len(unknown) > 0 {
		mapped += fmt.Sprintf(" --states '%s' (each valid, unpaid, blocked, refunded or cancelled)", strings.Join(unknown, ","))
	}
	return newQuestion(name, "may decide who gets in and is not understood", values, mapped)
}

// newQuestion asks about a column; mapped is the flag that says what it means.
func newQuestion(name, text string, values []profile.Value, mapped string) *Question {
	shown := values[:min(len(values), MaxAsked)]
	return &Question{name, shown, len(values) - len(shown), text, []string{mapped, fmt.Sprintf("--ignore '%s'", name)}}
}

// AskMember asks about a member of NDJSON lines that no table of fields has, if its name or its values may decide on admission.
func AskMember(name string, p *profile.Column, said *Answers) (*Question, bool) {
	c := admission{&chooser{ly: &Layout{header: header{Titles: []string{name}}}, said: said, profiles: []profile.Column{*p}}}
	known := p.Share(func(v string) bool {
		return words.StateOf(v, said.States) != "" || words.Telling(words.Plain(v))
	})
	title := words.Plain(words.Parted(name))
	tells := words.Tells(title) || words.IsDebt(title) || words.Begins(title, words.TellingTitles) || isOccasion(title) && len(p.Counts) > 1 || severalOccasions(p, title, "", said.Today) || 2*known >= p.Filled ||
		words.HasWord(title, words.CountTitles) && lacksTicket(p)
	if p.Has[profile.Outs] == 0 && !c.saysOut(p) && (p.Counts == nil || !tells) {
		return nil, false
	}
	return c.question(0), true
}

// Questions are several at once.
type Questions []*Question

// Is makes them a sheet.ErrFile.
func (q Questions) Is(target error) bool { return target == sheet.ErrFile }

// Error has all questions as sentences.
func (q Questions) Error() string {
	texts := make([]string, len(q))
	for i, one := range q {
		texts[i] = one.text()
	}
	return strings.Join(texts, "; ")
}

// Decider is a column that decides on admission.
type Decider struct {
	Column int
	State  string // what it means when it says so; "" = its cells are states
	when   string // "true", "false" or whenOwed
}

// whenOwed is any amount above zero.
const whenOwed = "an amount"

// deciderOf reads a column with the title of a flag as yes or no, any other one as states.
func deciderOf(column int, title string) Decider {
	for _, f := range words.FlagTitles {
		if slices.Contains(strings.Split(f.Words, "|"), title) {
			return Decider{column, f.State, f.When}
		}
	}
	return Decider{Column: column}
}

// Means is what a cell says of its ticket: the place in severity; not known with -1.
func (d Decider) Means(cell string, own map[string]string) int {
	p := words.Saying(cell)
	state := words.StateOf(cell, own)
	if d.when == whenOwed && own[p] == "" {
		return slices.Index(words.Severity, owing(cell))
	}
	if d.State != "" && own[p] == "" {
		switch yes := words.TruthOf(cell); {
		case yes == d.when, d.when == "true" && cells.IsDated(cell):
			state = d.State
		case yes != "", p == "" && d.when == "true":
			state = words.Severity[0]
		case d.when == "true" && words.StateWords[p] == d.State: // “Cancelado” under Cancelado
			state = d.State
		case d.when == "true" && !words.Refuses(state): // “ok” under Cancelado
			state = ""
		}
	}
	if state == "" {
		return -1
	}
	return slices.Index(words.Severity, state)
}

// owing is the state of a ticket with an amount to pay; "" where the cell is neither an amount, nor nothing, nor a word for a state.
func owing(cell string) string {
	if cell == "" {
		return words.Severity[0]
	}
	switch sign, ok := cells.SignOf(cell); {
	case sign > 0:
		return "unpaid"
	case ok, words.IsNothing(cell, words.Plain(cell)):
		return words.Severity[0]
	}
	return words.StateOf(cell, nil)
}
