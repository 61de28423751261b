package cells

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"doorward/api/load/kinds"
	"doorward/api/load/words"
	"doorward/kv/codes"
	"doorward/kv/record"
	"doorward/kv/value"

	"github.com/go-json-experiment/json/jsontext"
)

// Reader turns the cells of one file into the members of JSON objects.
type Reader struct {
	Own      bool // the table is one that export wrote: every cell is meant as it stands
	Workbook bool // dates are serial numbers and numbers are plain
	From1904 bool
	Words    map[string]string // choices seen before: field and cell → value
	States   map[string]string // what --states says of a state's word, in plain form
	Orders   map[string]Order  // of the dates of a field
	Zone     *time.Location    // of a day that names none; nil = UTC
	UTC      []string          // fields with times in UTC, if they have no offset
	Yearless int               // birthdays without a year, which were left out
	People   bool              // the rows are people: a cell that says nothing, as - and n/a, is blank
}

// Value answers a cell's JSON value, nil for a blank one, or what is wrong with it. What is right by its type is for the
// kind's table to say; here only people's ways of writing are undone.
func (c *Reader) Value(name string, f *record.Field, cell string) (v jsontext.Value, fault string) {
	if cell = strings.TrimSpace(cell); cell == "" {
		return nil, ""
	}
	if !c.Own {
		cell = Clean(cell)
	}
	switch {
	case c.Own:
		return ownValue(f, cell)
	case Spoiled(cell):
		return nil, "an error value of a spreadsheet"
	case c.People && IsUnsaid(name, cell):
		return nil, ""
	case cell[0] == '=':
		return nil, "a formula, where its value is wanted"
	case (slices.Contains(CodeNames, name) || slices.Contains(PersonNames, name)) && Scientific.MatchString(cell):
		return nil, "a number in scientific notation: a spreadsheet has cut its digits off"
	case slices.Contains(CodeNames, name) && strings.HasSuffix(cell, "'"), slices.Contains(PersonNames, name) && cell[0] == '\'' && strings.HasSuffix(cell, "'"):
		return nil, "a text in apostrophes: export the list with double quotes around its texts, or with none"
	case name == kinds.Code && floated.MatchString(cell):
		return nil, "a number with decimals, as a program makes of a code: export the list with its codes as texts"
	}
	if slices.Contains(CodeNames, name) {
		cell = WithoutFormat(cell)
	}
	if f == nil {
		return value.Quote(cell), ""
	}
	switch t := f.Type.(type) {
	case record.Date:
		if slices.Contains(yearlessDates, name) && yearless(cell) {
			c.Yearless++
			return nil, ""
		}
		cell, fault = c.date(name, cell)
	case record.DateTime:
		cell, fault = c.Moment(name, cell)
	case record.Money, record.Double:
		cell = c.number(cell)
	case record.Bool:
		cell = c.word(name, truth(cell))
	case record.Email:
		cell = firstOf(cell)
	case record.Phone:
		cell = digitsOf(firstOf(cell), phoneMarks, "+")
	case record.Text:
		cell = c.text(name, cell)
	case record.Choice:
		if cell = c.Choice(name, t, cell); !slices.Contains(t, cell) {
			fault = "none of the words that are known: " + strings.Join(t, ", ")
		}
	case record.Object, record.Objects:
		return object(cell)
	}
	if fault != "" {
		return nil, fault
	}
	return value.Quote(cell), ""
}

// unsaid are what programs and people write for what they do not know of a person, in plain form.
var unsaid = strings.Split("unknown|unspecified|not specified|not set|not known|prefer not to say|no email|no phone|desconhecido|desconhecida|nao informado|nao informada|nao consta|nao sei|nao possui|sem email|"+
	"sem e mail|sem telefone|sem informacao|no informado|no especificado|no sabe|no tiene|desconocido|unbekannt|keine angabe|inconnu|non renseigne", "|")

// IsUnsaid tells a cell that says nothing of a person: -, n/a, unknown, 0000-00-00. No is an answer, a question mark asks, and a name may be Nil.
func IsUnsaid(name, cell string) bool {
	text := words.Plain(cell)
	if strings.Contains(cell, "?") {
		return false
	}
	if slices.Contains(PersonNames, name) {
		return text == "" && words.SaysNothing(cell, text)
	}
	return words.TruthOf(cell) == "" && words.SaysNothing(cell, text) || slices.Contains(unsaid, text) || isNoDate(cell)
}

// WithoutFormat takes out invisible characters, which no scanner reads.
func WithoutFormat(cell string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, cell)
}

// CodeKey is what the cells of one code have in common: capitals, spaces, hyphens and invisible characters make no other code, and of a number a
// spreadsheet cuts zeros off, or writes decimals behind it.
func CodeKey(cell string) string {
	code := codes.Normal(WithoutFormat(Clean(cell)))
	if floated.MatchString(code) {
		code = code[:len(code)-len(".0")]
	}
	if bare := strings.TrimLeft(code, "0"); bare != "" && strings.Trim(code, "0123456789") == "" {
		return bare
	}
	return code
}

// Clean is a cell without the blanks around it and without what keeps spreadsheets from changing it: '+55… and ="0042".
func Clean(cell string) string {
	cell = unquote(strings.TrimSpace(cell))
	if inner, ok := strings.CutPrefix(cell, `="`); ok && strings.HasSuffix(inner, `"`) && !strings.Contains(inner[:len(inner)-1], `"`) {
		return strings.TrimSpace(inner[:len(inner)-1])
	}
	return cell
}

// At is the clean cell of a row in a column; blank where the row is shorter.
func At(texts []string, column int) string {
	if column >= len(texts) {
		return ""
	}
	return Clean(texts[column])
}

// unquote takes the apostrophe off that keeps spreadsheets from reading '+55… as a formula.
func unquote(cell string) string {
	if len(cell) > 1 && cell[0] == '\'' && strings.IndexByte("+-=@0123456789", cell[1]) >= 0 {
		return cell[1:]
	}
	return cell
}

// The fields of which each digit counts, and the fields of names.
var (
	CodeNames   = []string{kinds.Code, kinds.ExternalID, "phone", "mobile_phone", "order", "cpf", "rg", "document"}
	PersonNames = []string{kinds.HolderName, kinds.FullName, "name"}
)

// Scientific is how a spreadsheet shows a number that is too long for its cell: 9,00001E+16.
var Scientific = regexp.MustCompile(`(?i)^-?\d+([.,]\d+E[+-]?|E[+-])\d+$`)

// floated is how a program writes a code that it has taken for a number: 551234.0.
var floated = regexp.MustCompile(`^\d{3,}[.,]0$`)

// errorValues are what a formula leaves that cannot be worked out, in English and in Portuguese.
var errorValues = []string{
	"#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#SPILL!", "#CALC!", "#FIELD!", "#GETTING_DATA",
	"#N/D", "#VALOR!", "#NOME?", "#NULO!", "#NÚM!", "#DESPEJAR!",
}

// Spoiled tells the errors that a formula leaves in a spreadsheet.
func Spoiled(cell string) bool {
	return cell != "" && cell[0] == '#' && slices.Contains(errorValues, strings.ToUpper(cell))
}

// yearlessDates are the fields in which a date without a year is left out, since they hold none.
var yearlessDates = []string{"birthday", "marriage_date"}

func (c *Reader) date(name, cell string) (string, string) {
	if c.Workbook {
		if t, ok := serial(cell, c.From1904); ok {
			return t.Format("2006-01-02"), ""
		}
	}
	return day(cell, c.Orders[name])
}

// lastMoments are the fields in which a date alone means that the whole day is within.
var lastMoments = []string{"valid_until", "end_datetime", "subscription_deadline"}

// forever is the last moment that a field takes. West of Greenwich the evening of 31/12/9999, which means for ever, ends after it.
const forever = "9999-12-31T23:59:59.999999Z"

// Moment reads a date and time into RFC 3339, without an offset where the cell has none. It returns a fault for any other text.
func (c *Reader) Moment(name, cell string) (string, string) {
	if c.Workbook {
		if t, ok := serial(cell, c.From1904); ok {
			if t.Equal(t.Truncate(24 * time.Hour)) {
				return c.bound(name, t), ""
			}
			return t.Format("2006-01-02T15:04:05"), ""
		}
	}
	if date, rest, ok := datePart(cell, c.Orders[name]); ok && rest == "" {
		day, _ := value.ParseDate(date) // datePart has
		return c.bound(name, day), ""
	}
	if m, ok := moment(cell, c.Orders[name]); ok {
		if slices.Contains(c.UTC, name) && !strings.ContainsAny(m[len("2006-01-02T"):], "+-Z") {
			m += "Z"
		}
		if strings.HasPrefix(m, forever[:len(time.DateOnly)]) {
			if t, ok := value.ParseDateTime(m, c.Zone); !ok && t.Year() > 9999 {
				return forever, ""
			}
		}
		return m, ""
	}
	return "", faultMoment
}

// bound is the first moment of a day, of some fields the last.
func (c *Reader) bound(name string, day time.Time) string {
	zone := c.Zone
	if zone == nil || slices.Contains(c.UTC, name) {
		zone = time.UTC
	}
	at := value.DayStart(day, zone)
	if slices.Contains(lastMoments, name) {
		at = value.DayStart(day.AddDate(0, 0, 1), zone).Add(-time.Microsecond)
	}
	if at = at.UTC(); at.Year() > 9999 {
		return forever
	}
	return at.Format("2006-01-02T15:04:05.999999Z07:00")
}

// number reads an amount; a workbook's numbers have no separators to mistake.
func (c *Reader) number(cell string) string {
	if c.Workbook {
		if _, err := strconv.ParseFloat(cell, 64); err == nil {
			return cell
		}
	}
	return amount(cell)
}

// firstOf is the first of several addresses or numbers in one cell, as Google Contacts writes them: a@example.org ::: b@example.org.
func firstOf(cell string) string {
	first, _, _ := strings.Cut(cell, " ::: ")
	return first
}

// text undoes what people write into some texts: words for a value, and the points of a document.
func (c *Reader) text(name, cell string) string {
	switch name {
	case kinds.FullName:
		return strings.Join(strings.Fields(cell), " ") // a cell may hold line breaks
	case kinds.CPF:
		return digitsOf(cell, documentMarks, "")
	case "rg":
		return digitsOf(cell, documentMarks, "xX")
	}
	return c.word(name, cell)
}

const (
	phoneMarks    = " ().-\u00a0"
	documentMarks = " .-/\u00a0"
)

// digitsOf takes marks out of a number. What holds more than marks, digits and some other characters stays as it is.
func digitsOf(cell, marks, others string) string {
	if strings.Trim(cell, marks+others+"0123456789") != "" {
		return cell
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(marks, r) {
			return -1
		}
		return r
	}, cell)
}

// word finds the value that a word means for a field, by its column first; any other word stays.
func (c *Reader) word(name, cell string) string {
	if v, ok := c.Words[name+"\x00"+cell]; ok {
		return v
	}
	if of, ok := words.Choices[name]; ok {
		if v, ok := of[words.Plain(cell)]; ok {
			return v
		}
	}
	return cell
}

func truth(cell string) string {
	if t, ok := words.Truths[words.Plain(cell)]; ok {
		return t
	}
	return cell
}

// Choice finds the value that a word means; an unknown word stays as it is, in small letters.
func (c *Reader) Choice(name string, of record.Choice, cell string) string {
	key := name + "\x00" + cell
	if v, ok := c.Words[key]; ok {
		return v
	}
	v, ok := words.Choices[name][words.Plain(cell)]
	if !ok {
		v = strings.ToLower(cell)
		for _, o := range of {
			if words.Plain(o) == words.Plain(cell) && words.Plain(o) != "" && len(words.Plain(o)) == len(o) {
				v = o
			}
		}
	}
	if len(c.Words) < 1000 {
		c.Words[key] = v
	}
	return v
}

func object(cell string) (jsontext.Value, string) {
	if v := jsontext.Value(cell); v.IsValid() {
		return v, ""
	}
	return nil, "not a JSON value"
}

// guarded are the texts before which an export writes an apostrophe: spreadsheets would take them for formulas, or the apostrophe for
// one of theirs.
var guarded = regexp.MustCompile(`^'*[=+\-@\t\r]`)

// ownValue is a cell that export wrote. By its type's own rules the table then looks at it.
func ownValue(f *record.Field, cell string) (jsontext.Value, string) {
	if f != nil && isStructured(f) {
		return object(cell)
	}
	if text, ok := strings.CutPrefix(cell, "'"); ok && guarded.MatchString(text) {
		cell = text
	}
	return value.Quote(cell), ""
}

// FlatCell is a value as ownValue reads it back: texts as they are, lists and objects as JSON.
func FlatCell(f *record.Field, v jsontext.Value) string {
	if len(v) == 0 || v.Kind() == 'n' {
		return ""
	}
	if f != nil && isStructured(f) {
		return string(v)
	}
	if v.Kind() != '"' {
		return string(v)
	}
	text := value.Unquote(v)
	if guarded.MatchString(text) {
		return "'" + text
	}
	return text
}

// isStructured tells the fields of lists and objects.
func isStructured(f *record.Field) bool {
	switch f.Type.(type) {
	case record.Object, record.Objects, record.Refs, record.Texts:
		return true
	}
	return false
}

// amount reads a number as people write it: "R$ 1.234,56", "1,234.56", "1 234,56", "12,5"; "(50,00)" and "50,00-" are below
// zero. Of two different separators the last is the decimal one; a point before groups of three digits, and no more, parts
// thousands.
func amount(text string) string {
	s := spaces.Replace(text)
	if strings.Trim(s, "0123456789.,-+() ") != "" {
		s = currency.ReplaceAllString(s, "")
	}
	s, below := unsigned(strings.TrimSpace(s))
	if strings.Contains(s, " ") && spaced.MatchString(s) {
		s = strings.ReplaceAll(s, " ", "")
	}
	comma, point := strings.LastIndexByte(s, ','), strings.LastIndexByte(s, '.')
	switch {
	case comma >= 0 && point > comma:
		s = strings.ReplaceAll(s, ",", "")
	case comma >= 0:
		s = strings.Replace(strings.ReplaceAll(s, ".", ""), ",", ".", 1)
	case thousands(s):
		s = strings.ReplaceAll(s, ".", "")
	}
	if below {
		return "-" + s
	}
	return s
}

// SignOf tells whether a cell is an amount, and whether it is above (1), below (-1) or nothing (0).
func SignOf(cell string) (sign int, ok bool) {
	if strings.ContainsFunc(cell, noAmount) || !strings.ContainsAny(cell, "0123456789") {
		return 0, false
	}
	digits, below := strings.CutPrefix(amount(cell), "-")
	switch {
	case !plainNumber.MatchString(digits):
		return 0, false
	case strings.Trim(digits, "0.") == "":
		return 0, true
	case below:
		return -1, true
	}
	return 1, true
}

// IsAmount tells a cell that is one.
func IsAmount(cell string) bool {
	_, ok := SignOf(cell)
	return ok
}

// SameAmount tells whether two amounts are equal, however they are written: 50 and R$ 50,00.
func SameAmount(a, b string) bool {
	if a == b {
		return true
	}
	x, _ := strconv.ParseFloat(amount(a), 64)
	y, _ := strconv.ParseFloat(amount(b), 64)
	return x == y
}

// noAmount tells an ASCII character that no amount has, with its currency or without: most cells are seen to be none by one.
func noAmount(r rune) bool {
	return r < unicode.MaxASCII && !strings.ContainsRune("0123456789.,-+() $BRLUSDEGPbrlusdegp\t", r)
}

var (
	currency    = regexp.MustCompile(`(?i)(R|US)?\$|€|£|\b(BRL|USD|EUR|GBP)\b`)
	plainNumber = regexp.MustCompile(`^\d+(\.\d+)?$`)
	spaces      = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2009", " ", "\u2212", "-")
	spaced      = regexp.MustCompile(`^\d{1,3}( \d{3})+([.,]\d+)?$`) // thousands parted by spaces
)

// unsigned takes one sign off an amount: a minus before or behind it, or brackets around it.
func unsigned(s string) (rest string, below bool) {
	if inner, ok := strings.CutPrefix(s, "("); ok && strings.HasSuffix(inner, ")") {
		return strings.TrimSpace(strings.TrimSuffix(inner, ")")), true
	}
	if rest, below = strings.CutPrefix(s, "-"); !below {
		rest, below = strings.CutSuffix(s, "-")
	}
	return strings.TrimSpace(rest), below
}

// thousands tells "1.234" and "12.345.678" from "0.234" and "12.50".
func thousands(s string) bool {
	groups := strings.Split(s, ".")
	if len(groups) < 2 || len(groups[0]) < 1 || len(groups[0]) > 3 || groups[0][0] == '0' {
		return false
	}
	for _, g := range groups[1:] {
		if len(g) != 3 {
			return false
		}
	}
	return true
}
