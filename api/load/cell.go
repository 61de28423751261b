package load

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/record"
	"doorward/kv/value"
)

// cellReader turns the cells of one file into the members of JSON objects.
type cellReader struct {
	own      bool // the table is one that export wrote: every cell is meant as it stands
	workbook bool // dates are serial numbers and numbers are plain
	from1904 bool
	words    map[string]string    // choices seen before: field and cell → value
	states   map[string]string    // what --states says of a state's word, in plain form
	orders   map[string]dateOrder // of the dates of a field
	utc      []string             // fields whose times without an offset are in UTC
	yearless int                  // birthdays without a year, which were left out
}

// value answers a cell's JSON value, nil for a blank one, or what is wrong with it. What is right by its type is for the
// kind's table to say; here only people's ways of writing are undone.
func (c *cellReader) value(name string, f *record.Field, cell string) (v jsontext.Value, fault string) {
	if cell = strings.TrimSpace(cell); cell == "" {
		return nil, ""
	}
	if !c.own {
		cell = clean(cell)
	}
	switch {
	case c.own:
		return ownValue(f, cell)
	case spoiled(cell):
		return nil, "an error value of a spreadsheet"
	case cell[0] == '=':
		return nil, "a formula, where its value is wanted"
	case (slices.Contains(codeNames, name) || slices.Contains(personNames, name)) && scientific.MatchString(cell):
		return nil, "a number in scientific notation: a spreadsheet has cut its digits off"
	}
	if slices.Contains(codeNames, name) {
		cell = withoutFormat(cell)
	}
	if f == nil {
		return value.Quote(cell), ""
	}
	switch t := f.Type.(type) {
	case record.Date:
		if slices.Contains(yearlessDates, name) && yearless(cell) {
			c.yearless++
			return nil, ""
		}
		cell, fault = c.date(name, cell)
	case record.DateTime:
		cell, fault = c.moment(name, cell)
	case record.Money, record.Double:
		cell = c.number(cell)
	case record.Bool:
		cell = c.word(name, truth(cell))
	case record.Phone:
		cell = digitsOf(cell, phoneMarks, "+")
	case record.Text:
		cell = c.text(name, cell)
	case record.Choice:
		cell = c.choice(name, t, cell)
	case record.Object, record.Objects:
		return object(cell)
	}
	if fault != "" {
		return nil, fault
	}
	return value.Quote(cell), ""
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

// withoutFormat takes out the characters that nobody sees and no scanner reads.
func withoutFormat(cell string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, cell)
}

// clean is a cell without the blanks around it and without what keeps spreadsheets from changing it: '+55… and ="0042".
func clean(cell string) string {
	cell = unquote(strings.TrimSpace(cell))
	if inner, ok := strings.CutPrefix(cell, `="`); ok && strings.HasSuffix(inner, `"`) && !strings.Contains(inner[:len(inner)-1], `"`) {
		return strings.TrimSpace(inner[:len(inner)-1])
	}
	return cell
}

// unquote takes the apostrophe off that keeps spreadsheets from reading '+55… as a formula.
func unquote(cell string) string {
	if len(cell) > 1 && cell[0] == '\'' && strings.IndexByte("+-=@0123456789", cell[1]) >= 0 {
		return cell[1:]
	}
	return cell
}

// Fields whose values are read as they are shown, digit by digit, and those of names.
var (
	codeNames   = []string{nameCode, nameExternal, "phone", "mobile_phone", "order", "cpf", "rg", "document"}
	personNames = []string{nameHolder, nameFull, "name"}
)

// scientific is how a spreadsheet shows a number that is too long for its cell: 9,00001E+16.
var scientific = regexp.MustCompile(`(?i)^-?\d+([.,]\d+E[+-]?|E[+-])\d+$`)

// errorValues are what a formula leaves that cannot be worked out, in English and in Portuguese.
var errorValues = []string{
	"#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#SPILL!", "#CALC!", "#FIELD!", "#GETTING_DATA",
	"#N/D", "#VALOR!", "#NOME?", "#NULO!", "#NÚM!", "#DESPEJAR!",
}

// spoiled tells the errors that a formula leaves in a spreadsheet.
func spoiled(cell string) bool {
	return cell != "" && cell[0] == '#' && slices.Contains(errorValues, strings.ToUpper(cell))
}

// yearlessDates are the fields in which a date without a year is left out, since they hold none.
var yearlessDates = []string{"birthday", "marriage_date"}

func (c *cellReader) date(name, cell string) (string, string) {
	if c.workbook {
		if t, ok := serial(cell, c.from1904); ok {
			return t.Format("2006-01-02"), ""
		}
	}
	return day(cell, c.orders[name])
}

// lastMoments are the fields in which a date alone means that the whole day is within.
var lastMoments = []string{"valid_until", "end_datetime", "subscription_deadline"}

func (c *cellReader) moment(name, cell string) (string, string) {
	last := slices.Contains(lastMoments, name)
	if c.workbook {
		if t, ok := serial(cell, c.from1904); ok {
			if last && t.Equal(t.Truncate(24*time.Hour)) {
				return t.Format("2006-01-02T") + dayEnd, ""
			}
			return t.Format("2006-01-02T15:04:05"), ""
		}
	}
	if date, rest, ok := datePart(cell, c.orders[name]); ok && rest == "" && last {
		return date + "T" + dayEnd, ""
	}
	if m, ok := moment(cell, c.orders[name]); ok {
		if slices.Contains(c.utc, name) && !strings.ContainsAny(m[len("2006-01-02T"):], "+-Z") {
			m += "Z"
		}
		return m, ""
	}
	return "", faultMoment
}

// number reads an amount; a workbook's numbers have no separators to mistake.
func (c *cellReader) number(cell string) string {
	if c.workbook {
		if _, err := strconv.ParseFloat(cell, 64); err == nil {
			return cell
		}
	}
	return amount(cell)
}

// text undoes what people write into some texts: words for a value, and the points of a document.
func (c *cellReader) text(name, cell string) string {
	switch name {
	case nameCPF:
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

// word finds the value that a word means for a field; any other word stays.
func (c *cellReader) word(name, cell string) string {
	if of, ok := choices[name]; ok {
		if v, ok := of[plain(cell)]; ok {
			return v
		}
	}
	return cell
}

func truth(cell string) string {
	if t, ok := truths[plain(cell)]; ok {
		return t
	}
	return cell
}

// choice finds the value that a word means; an unknown word is left to the table to refuse.
func (c *cellReader) choice(name string, of record.Choice, cell string) string {
	key := name + "\x00" + cell
	if v, ok := c.words[key]; ok {
		return v
	}
	v, ok := choices[name][plain(cell)]
	if !ok {
		v = strings.ToLower(cell)
		for _, o := range of {
			if plain(o) == plain(cell) && plain(o) != "" && len(plain(o)) == len(o) {
				v = o
			}
		}
	}
	if len(c.words) < 1000 {
		c.words[key] = v
	}
	return v
}

func object(cell string) (jsontext.Value, string) {
	if v := jsontext.Value(cell); v.IsValid() {
		return v, ""
	}
	return nil, "not a JSON value"
}
