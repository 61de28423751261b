package columns

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doorward/api/load/cells"
	"doorward/api/load/kinds"
	"doorward/api/load/profile"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv/record"
)

// header is the row of titles.
type header struct {
	Row    sheet.Row
	Line   int
	Titles []string
	Full   int // columns of the row, untitled ones at its end too
	Lost   int // the first line above it that looks like a row of the list; 0 = none
}

// Layout says which column of a table feeds which field.
type Layout struct {
	Form kinds.Form
	header
	Origin    *Origin
	Feeds     []Feed
	Deciders  []Decider // the columns that say a ticket's state
	Checkins  []int     // the columns that say whether and when a ticket was used
	Remarks   []Remarks // of a known system, in which some rows say that their ticket does not get in
	Gone      []Absence // the columns that say which people, or memberships, are not active any more
	torn      []torn
	questions Questions
	Orders    map[string]cells.Order
	Ignored   []string
	Profiles  []profile.Column // nil while the header is looked for
	Headings  []Heading        // above the header
}

// Find picks the row that names the most fields, the first of equals, and lays the columns out; nil where none names any.
func Find(top []sheet.Row, f kinds.Form, said *Answers) *Layout {
	var best *Layout
	for _, row := range top {
		if row.Fault != "" {
			continue
		}
		ly := Lay(row, f, said, nil)
		if n := ly.Understood(); n > 0 && (best == nil || n > best.Understood()) {
			best = ly
		}
	}
	for _, row := range top {
		if best == nil || row.Line >= best.Line {
			continue
		}
		if h, ok := HeadingOf(row); ok {
			best.Headings = append(best.Headings, h)
		} else if h, ok := groupOf(row, best); ok {
			best.Headings = append(best.Headings, h)
		}
		if best.Lost == 0 && best.looksLikeRow(row.Texts) {
			best.Lost = row.Line
		}
	}
	return best
}

// Lay gives each field its columns: those that the map names, those of the origin, and those with the best rank among the
// field's titles, if their values fit it. Without profiles the titles alone count.
func Lay(row sheet.Row, f kinds.Form, said *Answers, profiles []profile.Column) *Layout {
	ly := &Layout{Form: f, header: header{Row: row, Line: row.Line, Titles: trimRight(row.Texts), Full: len(row.Texts)}, Profiles: profiles, Orders: map[string]cells.Order{}}
	for len(ly.Titles) < len(profiles) { // what stands beyond the titles may decide too
		ly.Titles = append(ly.Titles, "")
	}
	c := &chooser{ly: ly, said: said, taken: make([]bool, len(ly.Titles)), profiles: profiles}
	for _, t := range ly.Titles {
		c.plains = append(c.plains, words.PlainTitle(t))
	}
	ly.Origin, _ = OriginNamed(said.From, f) // check has said what is wrong with it
	if ly.Origin == nil {
		ly.Origin = originOf(f, c.plains)
	}
	if ly.isOwn() {
		ly.Origin = OwnOrigin
	}
	c.origin = ly.Origin
	by := admission{c}
	c.takeMapped()
	c.takeOwn()
	c.takeOrigin()
	switch f.Kind {
	case record.Ticket:
		by.takeCheckins()
		by.decide()
	case record.Person:
		c.takeAbsences()
	case record.Membership:
		takeEnds(c)
	}
	c.takeByTitle()
	c.joinNames()
	if ly.Has(kinds.IsActive) {
		ly.Gone = slices.DeleteFunc(ly.Gone, isLeaving)
	}
	if f.Kind == record.Ticket {
		by.askForTypes()
		by.askForRest()
		askForDays(by)
	}
	for i, t := range ly.Titles {
		if !c.taken[i] && t != "" && (profiles == nil || profiles[i].Filled > 0) {
			ly.Ignored = append(ly.Ignored, ly.Name(i))
		}
	}
	return ly
}

// Understood counts the columns that are understood by their titles.
func (ly *Layout) Understood() int { return len(ly.Feeds) + len(ly.Deciders) + len(ly.Checkins) }

// Answers are what the operator says of a table: the flags that answer questions.
type Answers struct {
	From      string            // the system that wrote the file; "" = known by its titles, "none" = none
	Map       map[string]string // field → column, by its title, "Title#2" or "#3"; several with + between them
	Ignore    []string          // columns that are not read
	States    map[string]string // word, in plain form → state of a ticket
	Dates     string            // dmy, mdy or ymd; "" = as the dates of each column show
	OnlyTypes []string          // the types of tickets that are taken; nil = all
	Event     int64             // of all rows; 0 = a column names it
	Checkins  bool              // used tickets are checked in
	Today     string            // the day of the import, as 2026-12-31
}

// Feed is one field and the columns that give it. Its parts are joined by a blank; of the columns of a part the first that is
// not blank counts.
type Feed struct {
	Name  string
	Parts [][]int
	Why   string
}

// Columns are the columns of all parts.
func (f *Feed) Columns() []int { return slices.Concat(f.Parts...) }

// Remarks are a column of remarks.
type Remarks struct {
	Column int
	Tells  bool // most of them speak of admission
}

// Remark is the column by which a row says that its ticket does not get in, or may say it.
func (ly *Layout) Remark(texts []string) (at int, ok bool) {
	i := slices.IndexFunc(ly.Remarks, func(r Remarks) bool {
		cell := cells.At(texts, r.Column)
		text := words.Plain(cell)
		return words.KeepsOut(cell, text) || words.Refuses(words.StateWords[text]) || r.Tells && words.Telling(text)
	})
	if i < 0 {
		return 0, false
	}
	return ly.Remarks[i].Column, true
}

// NamesChurches tells whether a feed's columns hold names of churches, or numbers under a title that does not say id.
func (ly *Layout) NamesChurches(f *Feed) bool {
	if ly.Origin == OwnOrigin && f.Why != "--map" {
		return false
	}
	for _, i := range f.Columns() {
		ids := ly.Profiles != nil && ly.Profiles[i].All(profile.Whole)
		if isChurchTitle(words.PlainTitle(ly.Titles[i])) || f.Why == "--map" && !ids {
			return true
		}
	}
	return false
}

// isChurchTitle tells a title that means a church, and does not say that it is an id.
func isChurchTitle(title string) bool {
	all := words.Ranks(kinds.Church)
	return slices.Contains(all[len(all)-1], title)
}

// OwnKind is the kind of a table that export wrote, "" for any other.
func OwnKind(top []sheet.Row) string {
	if len(top) > 1 && slices.Equal(top[0].Texts[:min(2, len(top[0].Texts))], []string{kinds.Kind, kinds.ID}) && len(top[1].Texts) > 0 {
		return strings.TrimSpace(top[1].Texts[0])
	}
	return ""
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

// Width is how many columns have titles, untitled ones between them too.
func (h *header) Width() int { return len(trimRight(h.Row.Texts)) }

// find answers the columns that a map names: all of one title, the second of one title ("Nome#2"), or the n-th of all ("#3").
func (h *header) find(name string) []int {
	columns := h.titled(name)
	at := strings.LastIndexByte(name, '#')
	n, err := strconv.Atoi(name[at+1:])
	if len(columns) > 0 || at < 0 || err != nil || n < 1 {
		return columns
	}
	if at > 0 {
		columns = h.titled(name[:at])
		if n > len(columns) {
			return nil
		}
		return columns[n-1 : n]
	}
	if n > len(h.Titles) {
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

func (h *header) titled(title string) (columns []int) {
	for i, t := range h.Titles {
		if t != "" && words.PlainTitle(t) == words.PlainTitle(title) {
			columns = append(columns, i)
		}
	}
	return columns
}

// Name is the name by which a map means a column: its title, or one of several of a title, "Nome#2".
func (h *header) Name(column int) string {
	alike := h.titled(h.Title(column))
	if len(alike) < 2 {
		return h.Title(column)
	}
	return h.Titles[column] + "#" + strconv.Itoa(slices.Index(alike, column)+1)
}

// Title is a column's title, or its number where it has none.
func (h *header) Title(i int) string {
	if i < len(h.Titles) && h.Titles[i] != "" {
		return h.Titles[i]
	}
	return "#" + strconv.Itoa(i+1)
}

// Feed is a field's feed; nil where no column gives it.
func (ly *Layout) Feed(field string) *Feed {
	for i := range ly.Feeds {
		if f := &ly.Feeds[i]; f.Name == field {
			return f
		}
	}
	return nil
}

// Has tells whether a column gives the field.
func (ly *Layout) Has(field string) bool {
	return field == kinds.State && len(ly.Deciders) > 0 || ly.Feed(field) != nil
}

// Column is the column that a field comes from, for people.
func (ly *Layout) Column(field string) string {
	if f := ly.Feed(field); f != nil {
		return ly.Title(f.Parts[0][0])
	}
	if field == kinds.State && len(ly.Deciders) > 0 {
		return ly.Title(ly.Deciders[0].Column)
	}
	return field
}

// Cell is what a row has for a field.
func (ly *Layout) Cell(field string, texts []string) string {
	if f := ly.Feed(field); f != nil {
		return f.join(texts)
	}
	return ""
}

// Read is what a row has for the field, and the column where it begins. Over are the columns that say something else than the
// column of their part that counts.
func (f *Feed) Read(texts []string) (at int, cell string, over []int) {
	at, cell = first(f.Parts[0], texts)
	for _, part := range f.Parts {
		if len(part) == 1 {
			continue
		}
		_, said := first(part, texts)
		for _, c := range part {
			if _, other := first([]int{c}, texts); other != "" && other != said {
				over = append(over, c)
			}
		}
	}
	if len(f.Parts) > 1 {
		cell = f.join(texts)
	}
	return at, cell, over
}

// join puts the parts of the field's value together.
func (f *Feed) join(texts []string) string {
	var all []string
	for _, part := range f.Parts {
		if _, cell := first(part, texts); cell != "" {
			all = append(all, cell)
		}
	}
	return strings.Join(all, " ")
}

// first is the first of some columns with a cell that is not blank.
func first(columns []int, texts []string) (at int, cell string) {
	for _, c := range columns {
		if c < len(texts) {
			if s := strings.TrimSpace(texts[c]); s != "" {
				return c, s
			}
		}
	}
	return columns[0], ""
}

// Origin is a system with known exports: what its titles cannot say by themselves.
type Origin struct {
	Name    string
	kind    *record.Kind
	signs   []string            // the titles that show it, in plain form; of those between bars one
	columns map[string][]string // field → its titles, the first that a row fills counts
	IDs     string              // the title of the people's ids, which become external ids
	others  map[string][]string // titles that sound as if they decided on admission, and do not: by any cell, or by these words alone
	dates   cells.Order         // of dates that do not show it themselves; "" = not known
	UTC     []string            // fields with times in UTC, if they have no offset
	Types   bool                // its products are not all admissions
	noCode  string              // what to do where no column has the codes
}

// Unknown is known of a file that no origin fits.
var Unknown = &Origin{Name: "none"}

// OwnOrigin is this program: what export wrote.
var OwnOrigin = &Origin{Name: "doorward"}

var pretixUTC = []string{"valid_from", "valid_until"}

// origins are the systems that are known, the more special before the others.
var origins = []*Origin{
	{Name: "pretix-positions", kind: record.Ticket, Types: true,
		signs:   []string{"ticket secret|segredo do ingresso|secreto del ticket|codigo secreto del ticket", "order code|codigo do pedido|codigo del pedido"},
		columns: map[string][]string{kinds.Email: {"attendee email", "email do participante", "e mail do participante", "email", "e mail"}}},
	{Name: "pretix-checkin", kind: record.Ticket, Types: true, UTC: pretixUTC,
		signs: []string{"secret|segredo|secreto", "order code|codigo do pedido|codigo del pedido"}},
	{Name: "pretix-codes", kind: record.Ticket, Types: true, UTC: pretixUTC,
		signs: []string{"secret|segredo|secreto", "product|produto|producto", "variation|variacao|variacion"}},
	{Name: "pretix-json", kind: record.Ticket},
	{Name: "sympla", kind: record.Ticket, dates: cells.DayFirst,
		signs: []string{"n ingresso|numero do ingresso|numero ingresso", "n pedido|numero do pedido", "tipo de ingresso", "ordem de inscricao|cupom de desconto|estado de pagamento"}},
	{Name: "eventbrite", kind: record.Ticket, dates: cells.MonthFirst,
		others: map[string][]string{"order type": {"eventbrite completed", "free order"}, "eventbrite payment processing": nil, "fees paid": nil, "total paid": nil},
		signs:  []string{"order number|order id", "attendee number|attendee status", "ticket type"},
		noCode: "what the QR code holds is Eventbrite's column “Barcode #”: export the list again with it"},
	{Name: "planning-center", kind: record.Person, dates: cells.MonthFirst, IDs: "person id",
		columns: map[string][]string{kinds.Email: {"home email", "work email", "other email"}},
		signs:   []string{"person id", "given name|household id|name prefix|nickname", "first name", "last name"}},
	{Name: "rock", kind: record.Person, dates: cells.MonthFirst, IDs: "id",
		columns: map[string][]string{kinds.IsActive: {"record status"}},
		signs:   []string{"family id", "last name", "nick name|connection status|record status"}},
	{Name: "breeze", kind: record.Person, IDs: "breeze id", signs: []string{"breeze id", "first name", "last name"},
		columns: map[string][]string{"phone": {"home"}}},
	{Name: "churchcrm", kind: record.Person, IDs: "person id",
		signs: []string{"family id|familyid", "last name|lastname", "first name|firstname", "envelope number|family role|classification|homephone"}},
}

// OriginNamed finds an origin by what --from says; nil for "".
func OriginNamed(name string, f kinds.Form) (*Origin, error) {
	if name == "" || name == Unknown.Name {
		return map[string]*Origin{Unknown.Name: Unknown}[name], nil
	}
	var names []string
	for _, o := range origins {
		if o.Name == name && o.kind == f.Kind {
			return o, nil
		}
		names = append(names, o.Name)
	}
	if slices.Contains(names, name) {
		return nil, fmt.Errorf("%w: --from %s: its rows are not of kind %s", kinds.ErrUsage, name, f.Kind.Name)
	}
	return nil, fmt.Errorf("%w: --from %s: no such source%s; known are %s, none", kinds.ErrUsage, name, words.DidYouMean(name, names), strings.Join(names, ", "))
}

// Origins are the names of the systems that are known, and the one for none of them.
func Origins() (names []string) {
	for _, o := range origins {
		names = append(names, o.Name)
	}
	return append(names, Unknown.Name)
}

// originOf recognises the system that wrote a file by its titles.
func originOf(f kinds.Form, plains []string) *Origin {
	for _, o := range origins {
		if o.kind == f.Kind && len(o.signs) > 0 && !slices.ContainsFunc(o.signs, func(sign string) bool {
			return !slices.ContainsFunc(strings.Split(sign, "|"), func(t string) bool { return slices.Contains(plains, t) })
		}) {
			return o
		}
	}
	return Unknown
}
