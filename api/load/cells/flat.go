package cells

import (
	"regexp"
	"strings"

	"doorward/kv/record"

	"github.com/go-json-experiment/json/jsontext"
)

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
	return record.Quote(cell), ""
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
	text := record.Unquote(v)
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
