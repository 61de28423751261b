package columns

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"doorward/api/load/cells"
	"doorward/api/load/kinds"
	"doorward/api/load/profile"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv/record"
)

// maxUnread is how many unread columns an error names.
const maxUnread = 5

// HeaderError says that a table's header does not name what is needed, and which of its columns come nearest.
type HeaderError struct {
	Kind    string
	Line    int      // of the row that looks most like a header; 0 = none does
	Missing []string // fields that no column gives; empty where no header was found at all
	Near    []near
	Unread  []string // columns of a header that names something else
	Known   []string // the columns that the kind has
	Unfit   string   // a column that is called a code and holds none, and why it does not
	Hint    string   // what is known of the system that wrote the file
}

// near is a column that may be meant for a field.
type near struct{ Field, Title string }

// Is makes a HeaderError a sheet.ErrFile.
func (e *HeaderError) Is(target error) bool { return target == sheet.ErrFile }

// Error says what is missing and what comes nearest, with the flag that names it.
func (e *HeaderError) Error() string {
	var b strings.Builder
	if e.Line == 0 {
		fmt.Fprintf(&b, "no header in the first %d rows names a column of kind %s", sheet.HeaderRows, e.Kind)
	} else {
		fmt.Fprintf(&b, "the header in line %d has no column for %s", e.Line, strings.Join(e.Missing, ", "))
		if e.Unfit != "" {
			fmt.Fprintf(&b, ": %s", e.Unfit)
		}
	}
	if slices.Contains(e.Missing, kinds.Event) {
		b.WriteString("; --event ID supplies the event")
		if len(e.Missing) == 1 {
			return b.String()
		}
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, "; %s", e.Hint)
	}
	if len(e.Near) == 0 && len(e.Unread) > 0 {
		return b.String() + fmt.Sprintf("; not recognised are “%s”; say --map '%s=…' if one of them is meant",
			strings.Join(e.Unread, "”, “"), e.Missing[len(e.Missing)-1])
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

// Check finds what the header lacks: columns that the map names, and columns without which no row can be written. A file
// that names its records by id or external_id may leave everything else out; one of tickets by an external_id that the map
// names, since a title that merely sounds like one may stand over the codes.
func (ly *Layout) Check(said *Answers) error {
	if err := ly.checkNames(said); err != nil {
		return err
	}
	for _, t := range ly.Titles {
		if strings.HasPrefix(t, "_") {
			return fmt.Errorf("%w: line %d has a column whose name begins with “_”: such names are the server's own", sheet.ErrFile, ly.Line)
		}
	}
	if len(ly.torn) > 0 {
		t := ly.torn[0]
		return fmt.Errorf("%w: the header in line %d has two columns for %s, “%s” and “%s”: say which with --map '%s=%s'",
			sheet.ErrFile, ly.Line, t.field, t.one, t.other, t.field, t.one)
	}
	missing := ly.Missing(said)
	if len(missing) == 0 {
		return ly.ask(said)
	}
	e := &HeaderError{Kind: ly.Form.Kind.Name, Line: ly.Line, Missing: missing, Known: ly.Form.Known()}
	if slices.Contains(missing, kinds.Code) {
		e.Hint, e.Unfit = ly.Origin.noCode, unfit(ly)
	}
	if ly.Understood() > 1 {
		e.Unread = ly.mayBe(missing[len(missing)-1])
		e.Unread = e.Unread[:min(len(e.Unread), maxUnread)]
	}
	for _, field := range missing {
		if field == kinds.Event {
			continue // the flag is the nearest
		}
		t, ok := nearest(field, ly.mayBe(field), true)
		if !ok && field == kinds.Code && ly.Has(kinds.ExternalID) {
			t, ok = ly.Column(kinds.ExternalID), true
		}
		if ok {
			e.Near = append(e.Near, near{field, t})
		}
	}
	return e
}

// mayBe are the unread columns that may be a field by their values.
func (ly *Layout) mayBe(field string) (titles []string) {
	if field != kinds.Code || ly.Profiles == nil {
		return ly.Ignored
	}
	for i, t := range ly.Titles {
		title := words.PlainTitle(t)
		isOther := words.HasWord(title, words.PlaceTitles) || words.HasWord(title, words.WholeNames)
		if slices.Contains(ly.Ignored, ly.Name(i)) && ly.Profiles[i].Names() && !isOther {
			titles = append(titles, ly.Name(i))
		}
	}
	return titles
}

// unfit says which column is called a code and holds none, and why it does not.
func unfit(ly *Layout) string {
	for i, t := range ly.Titles {
		if words.IsCode(words.PlainTitle(t)) && ly.Profiles != nil && !ly.Profiles[i].IsCodes() {
			return fmt.Sprintf("“%s” is called so, but %s", ly.Name(i), ly.Profiles[i].WhyNoCodes())
		}
	}
	return ""
}

// checkNames finds columns that the flags name and that are not there.
func (ly *Layout) checkNames(said *Answers) error {
	for _, field := range slices.Sorted(maps.Keys(said.Map)) {
		if _, missing := ly.parts(said.Map[field]); missing != "" {
			return fmt.Errorf("%w: --map %s=%s: the header in line %d has no such column%s",
				kinds.ErrUsage, field, missing, ly.Line, words.DidYouMean(missing, ly.Titles))
		}
	}
	for _, title := range said.Ignore {
		if len(ly.find(title)) == 0 {
			return fmt.Errorf("%w: --ignore %s: the header in line %d has no such column%s", kinds.ErrUsage, title, ly.Line, words.DidYouMean(title, ly.Titles))
		}
	}
	return nil
}

// ask decides in which order the dates of each column are written, and says what is still to be asked.
func (ly *Layout) ask(said *Answers) error {
	for _, f := range ly.Feeds {
		field := ly.Form.Column(f.Name)
		if ly.Profiles == nil || field == nil {
			continue
		}
		if mayBeForeign(ly, f, field) {
			name := ly.Name(f.Columns()[0])
			q := newQuestion(name, "holds ids, and those of another system would mean other people or groups here", nil,
				fmt.Sprintf("--map '%s=%s' if they are ids of this server", f.Name, name))
			if other, ok := externalIDs[f.Name]; ok && ly.Form.Column(other) != nil {
				q.Flags = append(q.Flags, fmt.Sprintf("--map '%s=%s' if they are external ids here", other, name))
			}
			ly.questions = append(ly.questions, q)
		}
		if !dated(field) {
			continue
		}
		for _, i := range f.Columns() {
			ly.chooseOrder(f.Name, i, said)
		}
	}
	for _, i := range ly.Checkins {
		if said.Checkins && ly.Profiles != nil && ly.Profiles[i].Dates != (cells.Evidence{}) {
			ly.chooseOrder(kinds.Checkin, i, said)
		}
	}
	if len(ly.questions) > 0 {
		return ly.questions
	}
	return nil
}

// chooseOrder decides in which order a column's dates are written, or asks.
func (ly *Layout) chooseOrder(field string, column int, said *Answers) {
	order, why := orderOf(&ly.Profiles[column], ly.Origin, said)
	if why != "" {
		ly.questions = append(ly.questions, &Question{Column: ly.Name(column), Text: why, Flags: []string{"--dates dmy", "--dates mdy"}})
	}
	ly.Orders[field] = order
}

// orderOf is the order in which a column's dates are written; "" and the reason where it is not known.
func orderOf(p *profile.Column, origin *Origin, said *Answers) (order cells.Order, why string) {
	if said.Dates != "" {
		return cells.Order(said.Dates), ""
	}
	if order, why = p.Dates.Order(); why != "" && p.Dates.Agrees(origin.dates) {
		return origin.dates, ""
	}
	return order, why
}

// externalIDs are the columns of external ids, by the fields of ids of this server.
var externalIDs = map[string]string{kinds.Person: kinds.PersonID, kinds.GroupID: kinds.Group}

// mayBeForeign tells ids of people or groups under a title that other systems have too. The field's own name is ours.
func mayBeForeign(ly *Layout, f Feed, field *record.Field) bool {
	to, ok := field.Type.(record.Ref)
	if !ok || to.Kind != record.Person.Name && to.Kind != record.Group.Name || f.Why == "--map" || ly.Origin == OwnOrigin {
		return false
	}
	return slices.ContainsFunc(f.Columns(), func(i int) bool { return ly.Titles[i] != f.Name && ly.Profiles[i].Filled > 0 })
}

func dated(f *record.Field) bool {
	switch f.Type.(type) {
	case record.Date, record.DateTime:
		return true
	}
	return false
}

// Missing are the fields that no column gives and without which no row can be written.
func (ly *Layout) Missing(said *Answers) (missing []string) {
	ticket := ly.Form.Kind == record.Ticket
	named := said.Map[kinds.ExternalID] != "" || ly.Column(kinds.ExternalID) == kinds.ExternalID // and not by a title that sounds like it
	if ly.Has(kinds.ID) || ly.Has(kinds.ExternalID) && (!ticket || named && said.Event != 0) {
		return nil
	}
	for _, f := range ly.Form.Table.Fields {
		by := ly.Form.NamedBy(f.Name)
		given := ly.Has(f.Name) || slices.ContainsFunc(by, ly.Has) || f.Name == kinds.Event && said.Event != 0 || f.Name == kinds.Code && named && ly.Has(kinds.ExternalID)
		if ly.Form.Needs(f.Name) && !given {
			missing = append(missing, append(by, f.Name)[0]) // ids are seldom at hand
		}
	}
	return missing
}

// NoHeader is the fault of a table in which no row names any column. Cells that merely stand at the top are not repeated,
// since they may be anybody's data: only those that all but name a column.
func NoHeader(top []sheet.Row, f kinds.Form) *HeaderError {
	e := &HeaderError{Kind: f.Kind.Name, Known: f.Known()}
	for _, row := range top {
		var found []near
		for _, field := range e.Known {
			if t, ok := nearest(field, trimRight(row.Texts), false); ok {
				found = append(found, near{field, t})
			}
		}
		if len(found) > len(e.Near) {
			e.Near = found
		}
	}
	e.Near = e.Near[:min(len(e.Near), 3)]
	return e
}

// nearest is the title that comes closest to a field's words; of a header, one that holds a word or is held by it, too.
func nearest(field string, titles []string, header bool) (string, bool) {
	type candidate struct {
		title string
		far   float64
	}
	var all []candidate
	for _, t := range titles {
		p := words.PlainTitle(t)
		for _, w := range words.Titles(field) {
			if d, ok := words.Near(p, w); len(p) > 2 && (ok || header && (holds(p, w) || holds(w, p))) {
				all = append(all, candidate{t, float64(d) / float64(max(len(p), len(w)))})
			}
		}
	}
	if len(all) == 0 {
		return "", false
	}
	return slices.MinFunc(all, func(a, b candidate) int { return cmp.Compare(a.far, b.far) }).title, true
}

// holds tells whether a title begins or ends with another, of four letters at least.
func holds(long, short string) bool {
	return len(short) > 3 && (strings.HasPrefix(long, short+" ") || strings.HasSuffix(long, " "+short))
}
