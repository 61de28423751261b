package load

import (
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
	if c.workbook && spoiled(cell) {
		return nil, "the workbook has an error value here"
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
		cell = truth(cell)
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

// spoiled tells the errors that a formula leaves in a workbook.
func spoiled(cell string) bool {
	switch cell {
	case "#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!":
		return true
	}
	return false
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
