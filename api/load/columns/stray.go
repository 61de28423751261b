package columns

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"doorward/api/load/cells"
	"doorward/api/load/kinds"
	"doorward/api/load/profile"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv/record"
)

// Stray tells rows that hold no record: the header once more, and a line of totals.
func (ly *Layout) Stray(texts []string) (at int, fault string) {
	filled, titled := 0, 0
	for i, cell := range texts {
		if cell = strings.TrimSpace(cell); cell == "" {
			continue
		}
		filled++
		if i < len(ly.Titles) && cell == ly.Titles[i] {
			titled++
		}
	}
	if titled > 0 && titled == filled && (titled > 1 || len(ly.Titles) == 1) {
		return ly.firstColumn(), "the header once more"
	}
	code, foreign := ly.Cell(kinds.Code, texts), ly.Form.Kind == record.Ticket && ly.Origin != OwnOrigin
	worded := foreign && filled == 1 && len(ly.Titles) > 1 && isWords(code)
	if _, ok := ly.Section(sheet.Row{Texts: texts}); ok || worded {
		return ly.firstColumn(), faultHeading
	}
	if foreign && isTotal(code) && !strings.ContainsAny(code, "0123456789") {
		return slices.IndexFunc(texts, isTotal), faultTotal
	}
	if foreign && isWordAmongCodes(ly, texts) {
		return ly.Feed(kinds.Code).Parts[0][0], "a word where the other rows have codes"
	}
	if ly.Form.Kind == record.Person && ly.Origin != OwnOrigin {
		name := ly.Cell(kinds.FullName, texts)
		if filled == 1 && len(ly.Titles) > 1 && isPeopleHeading(name) {
			return ly.firstColumn(), faultHeading
		}
		if filled <= 2 && isTotal(name) {
			return ly.firstColumn(), faultTotal
		}
	}
	if IsTotal(texts, len(ly.Titles)) {
		return slices.IndexFunc(texts, isTotal), faultTotal
	}
	return 0, ""
}

// peopleNouns are the words of headings over groups of people. No person is called by one of them.
var peopleNouns = strings.Fields("homens mulheres criancas jovens adolescentes visitantes membros congregados diaconos diaconisas presbiteros obreiros lideres pastores voluntarios casais viuvas idosos " +
	"familias familia inativos falecidos desligados transferidos men women children youth teens visitors members deacons elders leaders volunteers couples families inactive deceased " +
	"hombres mujeres ninos jovenes miembros visitas maenner manner frauen kinder jugend mitglieder gaste hommes femmes enfants jeunes membres visiteurs")

// isPeopleHeading tells the only words of a row that are no name: CRIANÇAS, Visitantes (3), B.
func isPeopleHeading(name string) bool {
	text := words.Plain(name)
	return strings.ContainsAny(text, "0123456789") || len([]rune(text)) == 1 || words.HasWord(text, peopleNouns)
}

// IsTotal tells a line of totals: the word for it, and at most one number in the other columns.
func IsTotal(texts []string, columns int) bool {
	filled := 0
	for _, cell := range texts {
		if strings.TrimSpace(cell) != "" {
			filled++
		}
	}
	if filled > 2 || columns <= filled {
		return false
	}
	at := slices.IndexFunc(texts, isTotal)
	return at >= 0 && !slices.ContainsFunc(slices.Delete(slices.Clone(texts), at, at+1), isWord)
}

// isWords tells words in the place of a ticket's code: Mesa 4. One of several has three letters and no digit.
func isWords(code string) bool {
	all := strings.Fields(words.Plain(code))
	return len(all) > 1 && strings.Contains(code, " ") &&
		slices.ContainsFunc(all, func(word string) bool { return len(word) > 2 && !strings.ContainsAny(word, "0123456789") })
}

// isWordAmongCodes tells a code without a digit in a row without a name, where all but a few rows have digits and names: Fila, Soma.
func isWordAmongCodes(ly *Layout, texts []string) bool {
	code, holder, cell := ly.Feed(kinds.Code), ly.Feed(kinds.HolderName), ly.Cell(kinds.Code, texts)
	if code == nil || holder == nil || ly.Profiles == nil || ly.Cell(kinds.HolderName, texts) != "" || !isWord(cell) || strings.ContainsAny(cell, "0123456789") {
		return false
	}
	codes, names := &ly.Profiles[code.Parts[0][0]], &ly.Profiles[holder.Parts[0][0]]
	few := 1 + codes.Rows/10
	return codes.Rows > 2 && codes.Filled-codes.Has[profile.Digits] <= few && names.Rows-names.Filled <= few
}

// firstColumn is one that is read.
func (ly *Layout) firstColumn() int {
	for _, f := range ly.Feeds {
		return f.Parts[0][0]
	}
	return 0
}

func isTotal(cell string) bool {
	p := words.Plain(cell)
	return p == "total" || strings.HasPrefix(p, "total ") || strings.HasPrefix(p, "subtotal")
}

func isWord(cell string) bool { return strings.ContainsFunc(cell, unicode.IsLetter) }

// Heading is a line above the header, or a line or a sheet's name above rows, that says of them what no column does: a waiting list. A title over
// a group of columns is one too.
type Heading struct {
	Line int // 0 = a sheet's name
	Text string
	Out  bool // the rows below do not get in; else it ends a heading by which they do not
}

// These refuse a heading among the rows, and a line of totals below them.
const (
	faultHeading = "a heading, not a row"
	faultTotal   = "a line of totals"
)

// Where is its place in a sentence.
func (h Heading) Where() string {
	if h.Line == 0 {
		return "the sheet's name"
	}
	return fmt.Sprintf("line %d", h.Line)
}

// HeadingOf is the only cell of a row above the header, if it refuses admission.
func HeadingOf(row sheet.Row) (h Heading, ok bool) {
	for _, cell := range row.Texts {
		if cell = strings.TrimSpace(cell); cell == "" {
			continue
		}
		if h.Text != "" {
			return Heading{}, false
		}
		h = Heading{Line: row.Line, Text: cell}
	}
	h.Out, _ = words.Heading(words.Plain(h.Text))
	h.Out = h.Out || h.SaysGone()
	return h, h.Out
}

// groupOf is a title that speaks of admission, in the row above the header and over a column that is not understood: Pagamento over Data and Forma.
// A line over the whole list begins in the first column.
func groupOf(row sheet.Row, ly *Layout) (h Heading, ok bool) {
	for i, cell := range row.Texts[:min(len(row.Texts), len(ly.Titles))] {
		title := words.Plain(cell)
		fed := slices.ContainsFunc(ly.Feeds, func(f Feed) bool { return slices.Contains(f.Columns(), i) })
		if i > 0 && row.Line == ly.Line-1 && !fed && ly.Titles[i] != "" && (words.Tells(title) || words.IsPayment(title)) {
			return Heading{Line: row.Line, Text: strings.TrimSpace(cell), Out: true}, true
		}
	}
	return Heading{}, false
}

// goneNouns are further words of headings over the dead.
var goneNouns = strings.Fields("obito falecimento morto morta memoriam dead death")

// SaysGone tells a heading over people that are not active: FALECIDOS (3), Membros inativos.
func (h Heading) SaysGone() bool {
	text := words.Plain(h.Text)
	gone := words.Choices[kinds.IsActive][strings.TrimSuffix(text, "s")] == "false" // ex-membros
	for word := range strings.FieldsSeq(text) {
		one := strings.TrimSuffix(word, "s")
		switch {
		case words.Choices[kinds.IsActive][one] == "false", slices.Contains(goneNouns, one):
			gone = true
		case !slices.Contains(peopleNouns, word) && !isNumber(word) && !slices.Contains(strings.Fields("lista list de do da dos das e of the and in ex former"), word):
			return false
		}
	}
	return gone
}

// Section is a heading among the rows of a list of tickets: the only words of a row that has no code. A number may stand beside them, or the
// titles of the columns once more. In a list of people it is a line that says of those below it that they are not active.
func (ly *Layout) Section(row sheet.Row) (h Heading, ok bool) {
	if ly.Form.Kind == record.Person && ly.Origin != OwnOrigin && len(ly.Titles) > 1 {
		h = Heading{Line: row.Line, Text: strings.TrimSpace(strings.Join(row.Texts, " ")), Out: true}
		return h, h.SaysGone()
	}
	if ly.Form.Kind != record.Ticket || ly.Origin == OwnOrigin {
		return h, false
	}
	for i, cell := range row.Texts {
		cell = strings.TrimSpace(cell)
		if !isWord(cell) || i < len(ly.Titles) && cell == ly.Titles[i] {
			continue
		}
		if h.Text != "" {
			return Heading{}, false
		}
		h = Heading{Line: row.Line, Text: cell}
	}
	if h.Text == "" || strings.ContainsAny(h.Text, "0123456789") && !strings.ContainsAny(h.Text, " (:-") {
		return Heading{}, false // a code, as a rule
	}
	numbered := false
	for _, field := range []string{kinds.Code, kinds.ExternalID} {
		named := ly.Cell(field, row.Texts)
		isNumber := len(named) < 5 && ly.Cell(kinds.HolderName, row.Texts) == h.Text // of the row
		if named != "" && named != h.Text && !isNumber {
			return Heading{}, false
		}
		numbered = numbered || named != "" && named != h.Text
	}
	var in bool
	h.Out, in = words.Heading(words.Plain(h.Text))
	isName := ly.Cell(kinds.HolderName, row.Texts) == h.Text && strings.Contains(h.Text, " ") && !strings.ContainsAny(h.Text, "0123456789")
	h.Out = h.Out || isFurtherList(h.Text) || !numbered && !isName && len(days(h.Text)) > 0 // a guest may be called Domingo Sá
	return h, h.Out || in
}

// listNouns are called further by an ordinal, a number or a letter that is not the first.
var (
	listNouns = strings.Fields("lista list chamada call convocatoria llamado")
	furthers  = strings.Fields("b c d segunda segundo terceira tercera tercer second third 2nd 3rd 2a 3a ii iii extra complementar")
)

// isFurtherList tells a heading of guests that get in only if others do not come: Lista B, 2ª chamada.
func isFurtherList(heading string) bool {
	text := words.Plain(heading)
	return words.HasWord(text, listNouns) && slices.ContainsFunc(strings.Fields(text), func(word string) bool {
		isNumber := strings.Trim(word, "0123456789") == "" && strings.TrimLeft(word, "0") != "1"
		return isNumber || slices.Contains(furthers, word)
	})
}

// looksLikeRow tells a row of the list above its header, as a sheet has one that was sorted with its header: the columns that are understood
// are filled, two at least, and the code looks like one; in a list of others three, with a digit or an @ in one of them.
func (ly *Layout) looksLikeRow(texts []string) bool {
	filled, marked := 0, false
	for i := range ly.Feeds {
		_, cell, _ := ly.Feeds[i].Read(texts)
		if cell != "" {
			filled++
		}
		marked = marked || strings.ContainsAny(cell, "0123456789@")
	}
	for _, by := range ly.Deciders {
		if by.Column < len(texts) && strings.TrimSpace(texts[by.Column]) != "" {
			filled++
		}
	}
	if ly.Form.Kind != record.Ticket {
		return filled > 2 && marked
	}
	code := ly.Cell(kinds.Code, texts)
	if !strings.ContainsAny(code, "0123456789") || strings.ContainsAny(code, " :/,") || cells.IsDated(code) {
		return false
	}
	return filled > 2 || filled > 1 && isWord(code)
}

// Turned tells a row that is a further header, with other titles or in another order: the rows below it are not laid out as those above.
func (ly *Layout) Turned(texts []string) bool {
	own, inPlace := 0, true
	for i, cell := range texts {
		cell = strings.TrimSpace(cell)
		if cell != "" && slices.Contains(ly.Titles, cell) {
			own++
		}
		inPlace = inPlace && (cell == "" || i < len(ly.Titles) && ly.Titles[i] == cell)
	}
	return own > 1 && !inPlace && ly.Origin != OwnOrigin && !slices.ContainsFunc(texts, func(cell string) bool {
		p := words.PlainTitle(cell)
		return p != "" && len(ly.titled(cell)) == 0 &&
			!slices.ContainsFunc(ly.Form.Known(), func(field string) bool { return slices.Contains(words.Titles(field), p) })
	})
}
