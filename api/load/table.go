package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"doorward/api/load/cells"
	"doorward/api/load/columns"
	"doorward/api/load/kinds"
	"doorward/api/load/profile"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv/fault"
	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/value"

	"github.com/go-json-experiment/json/jsontext"
)

// tableFile is a table with its layout.
type tableFile struct {
	ctx      context.Context
	ly       *columns.Layout
	src      *Source
	types    ticketTypes
	rows     int
	headings []columns.Heading
	unread   []string // sheets with rows beside the one that is read
	cells    cells.Reader
	torn     tornRows
	twice    contradictions
	known    references
	start    func(ly *columns.Layout) (sheet.Rows, error) // opens the rows below the header
}

// references find the records of the store that cells name.
type references struct {
	churches *churches // nil = no column names churches
	members  *members  // nil = no column names groups or people
}

// newTableFile reads a table through, chooses its columns by their titles and their values, and asks about what it does not
// understand.
func newTableFile(ctx context.Context, src *Source, ly *columns.Layout, start func(ly *columns.Layout) (sheet.Rows, error)) (*tableFile, error) {
	t := &tableFile{ctx: ctx, ly: ly, src: src, headings: ly.Headings, torn: newTornRows(), start: start}
	if len(ly.Titles) > sheet.MaxColumns {
		return nil, tooWide(ly.Line, len(ly.Titles))
	}
	if ly.Lost > 0 {
		return nil, fmt.Errorf("%w: line %d stands above the header in line %d and looks like a row of the list: move the header to the top, or take the line out", ErrSource, ly.Lost, ly.Line)
	}
	p := profile.NewTable(ly.Titles)
	err := t.each(func(row sheet.Row) {
		if row.Torn {
			t.torn.add(row)
			return
		}
		p.Row(row.Texts)
	})
	if err != nil {
		return nil, err
	}
	if t.torn.tooMany() {
		return nil, fmt.Errorf("%w: too many rows have other columns than the header in line %d: export the list again", ErrSource, ly.Line)
	}
	for i := range p.Columns {
		t.rows = max(t.rows, p.Columns[i].Rows)
	}
	t.ly = columns.Lay(ly.Row, ly.Form, &src.answers, p.Columns)
	if err := t.ly.Check(&src.answers); err != nil {
		return nil, err
	}
	for _, step := range []func() error{t.checkHeadings, t.checkCodes, t.chooseTypes, t.contradict} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	t.cells = cells.Reader{Own: t.ly.Origin == columns.OwnOrigin, States: src.States, Orders: t.ly.Orders, Zone: src.zone, UTC: t.ly.Origin.UTC, People: t.ly.Form.Column(kinds.FullName) != nil}
	return t, nil
}

// each calls fn with every row that holds a record, also one that is refused as it stands.
func (t *tableFile) each(fn func(row sheet.Row)) (err error) {
	rows, err := t.start(t.ly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for {
		runtime.Gosched() // a door waits for no look at a whole file
		row, err := rows.Next()
		switch {
		case t.ctx.Err() != nil:
			return context.Cause(t.ctx)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if t.ly.Turned(row.Texts) {
			return fmt.Errorf("%w: line %d is a header again, with other titles or in another order: make a file of its own of the rows from there on", ErrSource, row.Line)
		}
		if h, ok := t.ly.Section(row); ok && t.ly.Profiles == nil {
			t.headings = append(t.headings, h)
		}
		if _, fault := t.ly.Stray(row.Texts); fault == "" || isTorn(t.ly, row) {
			fn(row)
		}
	}
}

// sound calls fn with every row that holds a record and has no fault.
func (t *tableFile) sound(fn func(row sheet.Row)) error {
	return t.each(func(row sheet.Row) {
		if row.Fault == "" {
			fn(row)
		}
	})
}

func (t *tableFile) drafts() (drafts, error) {
	rows, err := t.start(t.ly)
	if err != nil {
		return nil, err
	}
	d := &tableDrafts{tableFile: t, rows: rows, cells: t.cells}
	d.cells.Words = columns.Letters(t.ly)
	return d, nil
}

// mayBeAlike tells whether the table is a list of people.
func (t *tableFile) mayBeAlike() bool { return t.ly.Form.Kind == record.Person }

// plan says how the table is read.
func (t *tableFile) plan(rep *Report) {
	if t.ly.Origin != columns.Unknown {
		rep.Source = t.ly.Origin.Name
	}
	for _, f := range t.ly.Feeds {
		rep.Columns = append(rep.Columns, t.column(f.Name, f.Why, f.Parts))
	}
	for _, d := range t.ly.Deciders {
		why := "its words are states"
		if d.State != "" {
			why = "yes or no: " + d.State
		}
		rep.Columns = append(rep.Columns, t.column(kinds.State, why, [][]int{{d.Column}}))
		t.unknownWords(d, rep)
	}
	rep.Warnings = append(rep.Warnings, unusedWords(t.ly, t.src.States)...)
	for _, a := range t.ly.Gone {
		why := "yes or no: is not active"
		if t.ly.Form.Kind == record.Membership {
			why = "its title: the membership has ended"
		}
		if a.Reason != "" {
			why = "yes or no: has died"
		}
		rep.Columns = append(rep.Columns, t.column(kinds.IsActive, why, [][]int{{a.Column}}))
	}
	for _, i := range t.ly.Checkins {
		rep.Columns = append(rep.Columns, t.column(kinds.Checkin, "its title", [][]int{{i}}))
	}
	if _, all := t.src.States[""]; t.sells() && len(t.ly.Deciders) == 0 && !all {
		rep.Warnings = append(rep.Warnings, "this list leaves out who has paid and who has cancelled: every ticket is taken as valid; export it again with that column, or say --states '=unpaid'")
	}
	t.types.report(rep)
	if t.known.churches != nil {
		t.known.churches.unknown(t, rep)
	}
	if t.rows == 0 {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf("below the header in line %d there is no row", t.ly.Line))
	}
	if len(t.unread) > 0 {
		rep.Warnings = append(rep.Warnings, "of the workbook, other sheets with rows were not read: “"+strings.Join(t.unread, "”, “")+"”")
	}
	t.severalTickets(rep)
	if n := t.types.test; n > 0 {
		rep.Warnings = append(rep.Warnings, counted(n, "ticket of a test order was", "tickets of test orders were")+" left out")
	}
	if rep.Entered > 0 && !t.src.Checkins {
		rep.Warnings = append(rep.Warnings, counted(rep.Entered, "ticket was", "tickets were")+
			" used already, as the file says; --checkins writes that down, else they can be used once more")
	}
}

// severalTickets adds a note on rows that are of more than one ticket, as an order is.
func (t *tableFile) severalTickets(rep *Report) {
	for i, title := range t.ly.Titles {
		p := &t.ly.Profiles[i]
		if t.ly.Form.Kind != record.Ticket || !words.HasWord(words.PlainTitle(title), words.CountTitles) || !p.All(profile.Numbers) || !slices.Contains(t.ly.Ignored, t.ly.Name(i)) {
			continue
		}
		more := p.Share(func(v string) bool { return strings.Trim(v, "0123456789") == "" && strings.TrimLeft(v, "0") > "1" })
		if more > 0 {
			rep.Warnings = append(rep.Warnings, fmt.Sprintf("%s of more than one ticket by the column “%s”; each row is one ticket, which is used once", counted(more, "row is", "rows are"), t.ly.Name(i)))
		}
	}
}

// sells tells whether the table is a shop's list of tickets: a shop knows the payments.
func (t *tableFile) sells() bool {
	return t.ly.Form.Kind == record.Ticket && t.ly.Origin != columns.Unknown && t.ly.Origin != columns.OwnOrigin
}

func (t *tableFile) column(field, why string, parts [][]int) Column {
	var titles, samples, firsts []string
	for _, columns := range parts {
		var either []string
		samples = []string{}
		for _, i := range columns {
			either = append(either, t.ly.Name(i))
			samples = append(samples, t.ly.Profiles[i].Samples...)
		}
		titles = append(titles, strings.Join(either, " or "))
		if len(samples) > 0 {
			firsts = append(firsts, samples[0])
		}
	}
	if len(parts) > 1 {
		samples = []string{strings.Join(firsts, " + ")}
	}
	return Column{Field: field, Column: strings.Join(titles, " + "), Why: why, Samples: samples[:min(len(samples), profile.MaxSamples)]}
}

// unknownWords adds a warning for each unknown word in a column of states: the import refuses its rows.
func (t *tableFile) unknownWords(d columns.Decider, rep *Report) {
	for _, v := range t.ly.Profiles[d.Column].Values() {
		if d.Means(v.Value, t.src.States) < 0 && words.Plain(v.Value) != "" && len(rep.Warnings) < columns.MaxAsked {
			rep.Warnings = append(rep.Warnings, fmt.Sprintf("“%s” in the column “%s” (%s) is no state that is known: --states '%s=…' says what it means",
				profile.Sample(v.Value), t.ly.Name(d.Column), counted(v.Count, "row", "rows"), v.Value))
		}
	}
}

// unusedWords are notes, one for each word of --states that no column of states has: it may be misspelt.
func unusedWords(ly *columns.Layout, states map[string]string) (notes []string) {
	var said []string
	for _, d := range ly.Deciders {
		p := &ly.Profiles[d.Column]
		if p.Filled > 0 && p.Counts == nil {
			return nil // too many to know them all
		}
		for _, v := range p.Values() {
			said = append(said, words.Saying(v.Value))
		}
	}
	for _, word := range slices.Sorted(maps.Keys(states)) {
		if word != "" && !slices.Contains(said, word) {
			notes = append(notes, fmt.Sprintf("--states explains “%s”, and no column of states has that word%s", word, words.DidYouMean(word, said)))
		}
	}
	return notes
}

// report adds the columns that were not read, in all rows or in some, and the counts of left out rows and dates.
func (t *tableDrafts) report(rep *Report) {
	rep.Ignored = slices.Clone(t.ly.Ignored)
	slices.Sort(t.over)
	for _, c := range t.over {
		rep.Ignored = append(rep.Ignored, t.ly.Name(c))
	}
	rep.LeftOut = t.left
	if t.cells.Yearless > 0 {
		rep.Warnings = append(rep.Warnings, counted(t.cells.Yearless, "date has no year and was", "dates have no year and were")+" left out")
	}
}

const faultTwoStates = "the same code stands in several lines, with different states"

// Two rows may give one code different states, for example a sale and its refund. The file does not say which one counts, so
// neither row is taken.

// contradictions are the codes of different states, as hashes under one seed.
type contradictions struct {
	seed  maphash.Seed
	said  map[uint64]int8 // the last state of each code, while the file is looked through
	codes map[uint64]bool
}

func newContradictions() contradictions {
	return contradictions{maphash.MakeSeed(), map[uint64]int8{}, map[uint64]bool{}}
}

// note notes the state that a row gives a code.
func (c *contradictions) note(code uint64, state int8) {
	if before, ok := c.said[code]; ok && before != state {
		c.codes[code] = true
	}
	c.said[code] = state
}

// contradict reads the table again to find codes with different states, if a code stands in it twice.
func (t *tableFile) contradict() error {
	if !t.repeatsCodes() {
		return nil
	}
	t.twice = newContradictions()
	defer func() { t.twice.said = nil }()
	return t.each(func(row sheet.Row) {
		if row.Torn {
			return
		}
		state := int8(t.ly.Strictest(row.Texts, t.src.States))
		if row.Fault != "" || t.saidOut(row.Texts) != "" {
			state = refusedRow
		}
		t.twice.note(t.twice.ofRow(t.ly, row.Texts), state)
	})
}

// refusedRow stands in the place of the state of a row that is refused as it stands, or by its name.
const refusedRow = int8(-2)

// noted are the fields beside which people note that a ticket does not get in: Ana (espera), 1002 CANCELADO.
var noted = []string{kinds.HolderName, kinds.Order, "phone", kinds.ExternalID}

// saidOut is the first of these fields in which a row's cell refuses admission; "" for none.
func (t *tableFile) saidOut(texts []string) string {
	if t.ly.Form.Kind != record.Ticket {
		return ""
	}
	for _, field := range noted {
		if cell := t.ly.Cell(field, texts); cell != "" && words.NameKeepsOut(cell) {
			return field
		}
	}
	return ""
}

func (t *tableFile) repeatsCodes() bool {
	f := t.ly.Feed(kinds.Code)
	if f == nil {
		return false
	}
	p := &t.ly.Profiles[f.Parts[0][0]]
	return len(f.Columns()) > 1 || p.Unique == nil || len(p.Unique) < p.Filled
}

// hash returns a hash of a code and its event. Codes that a scan does not tell apart are one.
func (c *contradictions) hash(event, code string) uint64 {
	return maphash.String(c.seed, event+"\x00"+cells.CodeKey(code))
}

// ofRow returns the hash of a row's code, and of its event if a column names one.
func (c *contradictions) ofRow(ly *columns.Layout, texts []string) uint64 {
	return c.hash(ly.Cell(kinds.Event, texts), ly.Cell(kinds.Code, texts))
}

// has tells whether a row has one of these codes.
func (c *contradictions) has(ly *columns.Layout, texts []string) bool {
	return len(c.codes) > 0 && c.codes[c.ofRow(ly, texts)]
}

// checkHeadings stops an import if a heading refuses admission to the rows below it, and the columns do not.
func (t *tableFile) checkHeadings() error {
	if t.ly.Form.Kind == record.Person {
		return t.checkGone()
	}
	i := slices.IndexFunc(t.headings, func(h columns.Heading) bool { return h.Out })
	if i < 0 || t.ly.Form.Kind != record.Ticket {
		return nil
	}
	if len(t.ly.Deciders) > 0 {
		return t.checkSections()
	}
	if _, decided := t.src.States[""]; decided {
		return nil
	}
	h := t.headings[i]
	return fmt.Errorf("%w: %s says “%s”, and no column says who gets in: give each row its state in a column, or take those rows out of the file, "+
		"or say --states '=valid' to let all rows in, or '=unpaid' or '=blocked' to keep all out", ErrSource, h.Where(), profile.Sample(h.Text))
}

// checkGone stops an import of people if a heading says that those below it are not active, and no column says who is.
func (t *tableFile) checkGone() error {
	i := slices.IndexFunc(t.headings, columns.Heading.SaysGone)
	if i < 0 || len(t.ly.Gone) > 0 || t.ly.Has(kinds.IsActive) {
		return nil
	}
	h := t.headings[i]
	return fmt.Errorf("%w: %s says “%s”, and no column says who is active: say it of each row in a column Status, or take the heading and its rows out of the file", ErrSource, h.Where(), profile.Sample(h.Text))
}

// checkSections stops an import if the columns let a row in that stands below a heading of rows that do not get in.
func (t *tableFile) checkSections() error {
	var found error
	err := t.sound(func(row sheet.Row) {
		i := slices.IndexFunc(t.headings, func(h columns.Heading) bool { return h.Line > row.Line })
		if i < 0 {
			i = len(t.headings)
		}
		if i == 0 || found != nil || t.ly.Strictest(row.Texts, t.src.States) > 0 {
			return
		}
		if h := t.headings[i-1]; h.Out && h.Line > t.ly.Line {
			found = fmt.Errorf("%w: line %d says “%s”, and the columns of line %d below it let that row in: give each row below the heading its own state, "+
				"or take the heading or these rows out of the file", ErrSource, h.Line, profile.Sample(h.Text), row.Line)
		}
	})
	return cmp.Or(err, found)
}

// checkCodes stops an import if a row has two codes, as two lists side by side have: all but the first would be left out.
func (t *tableFile) checkCodes() error {
	f := t.ly.Feed(kinds.Code)
	if f == nil || len(f.Columns()) < 2 || len(f.Parts) > 1 {
		return nil
	}
	first := t.ly.Name(f.Parts[0][0])
	var found error
	err := t.sound(func(row sheet.Row) {
		_, code, over := f.Read(row.Texts)
		for _, c := range over {
			if other := row.Texts[c]; found == nil && cells.CodeKey(other) != cells.CodeKey(code) {
				found = fmt.Errorf("%w: line %d has two codes, in “%s” and “%s”: make a file of each list, or say --map 'code=%s' if the other is none",
					ErrSource, row.Line, first, t.ly.Name(c), first)
			}
		}
	})
	return cmp.Or(err, found)
}

// tableDrafts reads drafts from a table by its layout.
type tableDrafts struct {
	*tableFile
	rows   sheet.Rows
	cells  cells.Reader // of this reading
	over   []int        // columns that said something else than one before them
	left   int          // rows of other types
	orders orderRows
}

func (t *tableDrafts) close() error { return t.rows.Close() }

func (t *tableDrafts) next() (draft, *Rejection, error) {
	for {
		row, err := t.rows.Next()
		if err != nil {
			return draft{}, nil, err
		}
		t.orders.read(t.tableFile, row)
		if row.Fault == "" && t.leaves(row.Texts) {
			t.left++
			continue
		}
		d, r := t.read(row)
		return d, r, nil
	}
}

// leaves tells whether a row is of a type that the operator leaves out.
func (t *tableDrafts) leaves(texts []string) bool {
	return t.types.only != nil && !slices.Contains(t.types.only, words.Plain(t.ly.Cell(kinds.Type, texts)))
}

func (t *tableDrafts) read(row sheet.Row) (draft, *Rejection) {
	d := draft{line: row.Line, form: t.ly.Form, column: t.columnOf}
	if row.Fault != "" {
		return d, &Rejection{row.Line, t.ly.Title(row.At), row.Fault}
	}
	if at, fault := t.ly.Stray(row.Texts); fault != "" {
		return d, &Rejection{row.Line, t.ly.Title(at), fault}
	}
	if r := t.inOrder(row); r != nil {
		return d, r
	}
	d.body = append(make([]byte, 0, 256), '{')
	gone, r := t.gone(&d, row)
	if r != nil {
		return d, r
	}
	for i := range t.ly.Feeds {
		if name := t.ly.Feeds[i].Name; slices.Contains(gone, name) || d.form.Names(name) {
			continue
		}
		if r := t.feed(&d, row, &t.ly.Feeds[i]); r != nil {
			return d, r
		}
	}
	if t.known.members != nil {
		if r := t.refer(&d, row); r != nil {
			return d, r
		}
	}
	if field := t.saidOut(row.Texts); field != "" {
		return d, &Rejection{row.Line, t.ly.Column(field), faultName}
	}
	if at, ok := t.ly.Remark(row.Texts); ok {
		return d, &Rejection{row.Line, t.ly.Title(at), fmt.Sprintf("a remark may say that the ticket is cancelled, refunded, blocked or not paid; --ignore '%s' reads no remarks", t.ly.Name(at))}
	}
	if t.ly.Form.Kind == record.Ticket && len(t.ly.Deciders) == 0 && saysOut(t.ly.Cell(kinds.Code, row.Texts)) {
		return d, &Rejection{row.Line, t.ly.Column(kinds.Code), faultNoCode}
	}
	if r := t.state(&d, row); r != nil {
		return d, r
	}
	if t.twice.has(t.ly, row.Texts) {
		return d, &Rejection{row.Line, t.ly.Column(kinds.Code), faultTwoStates}
	}
	if r := t.inTorn(row); r != nil {
		return d, r
	}
	d.entered, d.at = t.checkin(row.Texts)
	d.body = append(d.body, '}')
	return d, nil
}

// gone puts into the draft that a person is not active any more, and the reason if a column gives one. It returns the fields that it has put.
func (t *tableDrafts) gone(d *draft, row sheet.Row) (fields []string, r *Rejection) {
	reason := ""
	for _, a := range t.ly.Gone {
		cell := cells.At(row.Texts, a.Column)
		switch means := a.Means(cell); {
		case cell == "", cells.IsUnsaid(kinds.IsActive, cell):
		case means == "true" && d.form.Kind == record.Membership:
			return nil, &Rejection{row.Line, t.ly.Title(a.Column), faultEnded}
		case means == "true":
			fields, reason = []string{kinds.IsActive}, cmp.Or(reason, a.Reason)
		case means == "":
			return nil, &Rejection{row.Line, t.ly.Title(a.Column), "neither yes nor no"}
		}
	}
	if len(fields) > 0 {
		d.body = value.AppendMember(d.body, kinds.IsActive, value.Quote("false"))
	}
	if reason != "" {
		fields = append(fields, kinds.Inactive)
		d.body = value.AppendMember(d.body, kinds.Inactive, value.Quote(reason))
	}
	return fields, nil
}

// saysOut tells words for a state in the place of a code. Where a column says states, they may be a code.
func saysOut(code string) bool {
	if strings.ContainsAny(code, "0123456789") {
		return false
	}
	out, _ := words.Heading(words.Plain(code))
	return out
}

// feed puts one field's value into the draft.
func (t *tableDrafts) feed(d *draft, row sheet.Row, feed *columns.Feed) *Rejection {
	at, cell, over := feed.Read(row.Texts)
	if feed.Name == kinds.ID {
		d.id = cell
		return nil
	}
	for _, c := range over {
		if !slices.Contains(t.over, c) {
			t.over = append(t.over, c)
		}
	}
	if feed.Name == kinds.Code && d.form.Kind == record.Ticket && t.isCodeless(cell) {
		return &Rejection{row.Line, t.ly.Title(at), codeless(t.ly, row.Texts)} // a code made here would be another at every further import
	}
	if cells.Clean(cell) != "" && feed.Name == kinds.ExternalID && t.ly.Origin.IDs != "" && feed.Why == t.ly.Origin.Name {
		cell = t.ly.Origin.Name + ":" + cells.Clean(cell)
	}
	v, wrong := t.value(d.form, feed.Name, cell)
	if wrong != "" && !cells.Spoiled(cell) && feed.Name == kinds.Inactive && !t.ly.Has(kinds.InactiveDetails) {
		d.body = value.AppendMember(d.body, kinds.InactiveDetails, value.Quote(cells.Clean(cell)))
		v, wrong = value.Quote("other"), ""
	}
	switch {
	case wrong != "":
		return &Rejection{row.Line, t.ly.Title(at), wrong}
	case v != nil:
		d.event = d.event || feed.Name == kinds.Event
		d.body = value.AppendMember(d.body, feed.Name, v)
	}
	return nil
}

// isCodeless tells a cell in the place of a code that is blank, or as good as blank: a dash, n/a.
func (t *tableDrafts) isCodeless(cell string) bool {
	cell = cells.Clean(cell)
	text := words.Plain(cell)
	return cell == "" || t.ly.Origin != columns.OwnOrigin && len(text) != 1 && words.IsNothing(cell, text)
}

// codeless says what a row without a code seems to be.
func codeless(ly *columns.Layout, texts []string) string {
	filled, name := 0, ly.Cell(kinds.HolderName, texts)
	for _, cell := range texts {
		if cells.Clean(cell) != "" {
			filled++
		}
	}
	switch {
	case filled == 1 && (name == "" || strings.ContainsAny(name, "0123456789")):
		return faultText
	case name == "" && ly.Has(kinds.HolderName):
		return faultSecondLine
	}
	return fault.Blank
}

// value reads a cell. A cell that names a church gives the church's id.
func (t *tableDrafts) value(f kinds.Form, name, cell string) (jsontext.Value, string) {
	v, fault := t.cells.Value(name, f.Column(name), cell)
	if name == kinds.Approved && value.Unquote(v) == "ended" {
		return nil, faultEnded
	}
	if full := names.CPF(value.Unquote(v)); name == kinds.CPF && t.cells.People && !t.cells.Own && len(value.Unquote(v)) > 8 && names.IsCPF(full) {
		return value.Quote(full), "" // a spreadsheet has cut zeros off at the front
	}
	if name != kinds.Church || t.known.churches == nil || v == nil || fault != "" {
		return v, fault
	}
	return t.known.churches.find(cells.Clean(cell))
}

// checkin tells whether a row says that its ticket was used, and when; zero = it does not say when.
func (t *tableDrafts) checkin(texts []string) (entered bool, at time.Time) {
	for _, i := range t.ly.Checkins {
		cell := cells.At(texts, i)
		if cells.IsDated(cell) {
			entered = true
			if m, fault := t.cells.Moment(kinds.Checkin, cell); fault == "" {
				at = cells.InZone(m, t.src.zone)
			}
		}
		entered = entered || words.TruthOf(cell) == "true" || isUsed(cell)
	}
	for _, by := range t.ly.Deciders {
		entered = entered || isUsed(cells.At(texts, by.Column))
	}
	return entered, at
}

// isUsed tells the words by which programs say that a ticket was used.
func isUsed(cell string) bool {
	return slices.Contains([]string{"checked in", "scanned"}, words.Plain(cell))
}

const (
	faultName       = "this says that the ticket is cancelled, refunded, blocked or not paid"
	faultText       = "a text and no code: it seems to be a footer or a heading"
	faultSecondLine = "no code and no name: it seems to be a second line of the row above, or a footer"
	faultNoCode     = "words in the place of a code, which say that the ticket is cancelled, refunded, blocked or not paid"
	faultState      = "not a known state; --states 'WORD=valid' says what a word means"
	faultBlankState = "no state; --states '=valid' says what a blank cell means"
)

// state puts a ticket's state into the draft: the strictest state of its columns.
func (t *tableDrafts) state(d *draft, row sheet.Row) *Rejection {
	if word, ok := t.cells.States[""]; ok && len(t.ly.Deciders) == 0 {
		d.body = value.AppendMember(d.body, kinds.State, value.Quote(word)) // no column says a state: every cell of it is blank
		return nil
	}
	worst, blank := -1, -1
	for _, by := range t.ly.Deciders {
		cell := cells.At(row.Texts, by.Column)
		said := by.Means(cell, t.cells.States)
		switch {
		case said >= 0:
			worst = max(worst, said)
		case words.Saying(cell) == "":
			blank = by.Column
		case cells.Spoiled(cell):
			return &Rejection{row.Line, t.ly.Title(by.Column), "an error value of a spreadsheet"}
		default:
			return &Rejection{row.Line, t.ly.Title(by.Column), faultState}
		}
	}
	if blank >= 0 && worst <= 0 {
		return &Rejection{row.Line, t.ly.Title(blank), faultBlankState}
	}
	if worst >= 0 {
		d.body = value.AppendMember(d.body, kinds.State, value.Quote(words.Severity[worst]))
	}
	return nil
}
