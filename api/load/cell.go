package load

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"doorward/kv/record"

	"github.com/go-json-experiment/json/jsontext"
)

// cellReader turns the cells of one file into the members of JSON objects.
type cellReader struct {
	workbook bool // dates are serial numbers and numbers are plain
	from1904 bool
	words    map[string]string // choices seen before: field and cell → value
}

// value answers a cell's JSON value, nil for a blank one, or what is wrong with it. What is right by its type is for the
// kind's table to say; here only people's ways of writing are undone.
func (c *cellReader) value(name string, f *record.Field, cell string) (v jsontext.Value, fault string) {
	cell = unquote(strings.TrimSpace(cell))
	if cell == "" {
		return nil, ""
	}
	switch {
	case spoiled(cell):
		return nil, "an error value of a spreadsheet"
	case (slices.Contains(codeNames, name) || slices.Contains(personNames, name)) && scientific.MatchString(cell):
		return nil, "a number in scientific notation: a spreadsheet has cut its digits off"
	}
	if f == nil {
		return record.Quote(cell), ""
	}
	switch t := f.Type.(type) {
	case record.Date:
		cell, fault = c.date(cell)
	case record.DateTime:
		cell, fault = c.moment(name, cell)
	case record.Money, record.Double:
		cell = c.number(cell)
	case record.Bool:
		cell = c.word(name, truth(cell))
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
	return record.Quote(cell), ""
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
var scientific = regexp.MustCompile(`^-?\d+([.,]\d+E[+-]?|E[+-])\d+$`)

// errorValues are what a formula leaves that cannot be worked out, in English and in Portuguese.
var errorValues = []string{
	"#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#SPILL!", "#CALC!", "#FIELD!", "#GETTING_DATA",
	"#N/D", "#VALOR!", "#NOME?", "#NULO!", "#NÚM!", "#DESPEJAR!",
}

// spoiled tells the errors that a formula leaves in a spreadsheet.
func spoiled(cell string) bool {
	return cell != "" && cell[0] == '#' && slices.Contains(errorValues, strings.ToUpper(cell))
}

func (c *cellReader) date(cell string) (string, string) {
	if c.workbook {
		if t, ok := serial(cell, c.from1904); ok {
			return t.Format("2006-01-02"), ""
		}
	}
	if d, ok := day(cell); ok {
		return d, ""
	}
	return "", faultDate
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
	if date, rest, ok := datePart(cell); ok && rest == "" && last {
		return date + "T" + dayEnd, ""
	}
	if m, ok := moment(cell); ok {
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

// text undoes what people write into some texts: words for a value, and the points of a CPF.
func (c *cellReader) text(name, cell string) string {
	if name == "cpf" {
		if digits := cpfMarks.Replace(cell); strings.Trim(digits, "0123456789") == "" {
			return digits
		}
	}
	return c.word(name, cell)
}

var cpfMarks = strings.NewReplacer(".", "", "-", "", " ", "", "/", "")

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
