package record

import (
	"encoding/hex"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/oklog/ulid/v2"

	"doorward/kv/value"
)

// Misfits returns the names of the fields with a stored value of another type than the table's. A reply that shows one breaks the
// contract. null is of every type: Missing and Complete judge it. Lengths, sizes and choices are not judged, because another version
// may allow more.
func Misfits(d *Doc) (names []string) {
	for _, i := range d.Kind.sorted {
		f, v := &d.Kind.Fields[i], d.values[i]
		if !value.IsNull(v) && !fits(f.Type, v) {
			names = append(names, f.Name)
		}
	}
	return names
}

// LongNumbers returns the names of the members that are kept as given and hold a number of more than 64 characters. Fields that this
// version does not know are among them.
func LongNumbers(d *Doc) (names []string) {
	for _, i := range d.Kind.sorted {
		f := &d.Kind.Fields[i]
		switch f.Type.(type) {
		case Object, Objects:
			if value.HasLongNumber(d.values[i]) {
				names = append(names, f.Name)
			}
		}
	}
	for _, m := range d.extra {
		if value.HasLongNumber(m.Value) {
			names = append(names, value.Unquote([]byte(m.Name)))
		}
	}
	return names
}

// fits reports whether a stored value that is not null is of a type.
func fits(t Type, v jsontext.Value) bool {
	switch t := t.(type) {
	case Anything:
		return true
	case Text, Phone, Choice, Email, URL, Photo:
		return v.Kind() == '"'
	case Bool:
		return v.Kind() == 't' || v.Kind() == 'f'
	case Integer, Counted:
		_, ok := exact(v)
		return ok
	case Ref:
		n, ok := exact(v)
		return ok && n > 0
	case Money:
		return isAmount(v)
	case Double:
		_, fault := t.parse(v, nil)
		return v.Kind() == '0' && fault == ""
	case Date:
		_, ok := value.ParseDate(value.Unquote(v))
		return ok
	case DateTime:
		return isMoment(value.Unquote(v))
	case TimeOfDay:
		text := value.Unquote(v)
		at, ok := value.ParseTimeOfDay(text)
		return ok && at.String() == text
	case Hash:
		text := value.Unquote(v)
		_, err := hex.DecodeString(text)
		return err == nil && len(text) == t.digits()
	case ULID:
		text := value.Unquote(v)
		u, err := ulid.ParseStrict(text)
		return err == nil && u.String() == text
	}
	return fitsNested(t, v)
}

// fitsNested is fits for lists and objects.
func fitsNested(t Type, v jsontext.Value) bool {
	each := Type(nil)
	switch t := t.(type) {
	case Object:
		return v.Kind() == '{'
	case Objects:
		each = Object(t)
	case Texts:
		each = Text{}
	case Refs:
		each = Ref(t)
	}
	ok := each != nil && v.Kind() == '['
	for e := range value.Elements(v) {
		ok = ok && fits(each, e)
	}
	return ok
}

// exact reads an integer that every JSON client holds exactly.
func exact(v jsontext.Value) (n int64, ok bool) {
	if v.Kind() != '0' || strings.Trim(string(v), "-0123456789") != "" {
		return 0, false
	}
	n = value.Int(v)
	return n, -MaxID <= n && n <= MaxID
}

// amountText is an amount as it is stored.
var amountText = regexp.MustCompile(`^"-?[0-9]{1,16}\.[0-9]{2}"$`)

// isAmount reports whether a value is an amount with cents that every JSON client holds exactly.
func isAmount(v jsontext.Value) bool {
	n := value.Cents(v)
	return amountText.Match(v) && -MaxID <= n && n <= MaxID
}

// isMoment reports whether a text is a date-time as stored: in UTC, with seconds.
func isMoment(text string) bool {
	_, ok := value.ParseDateTime(text, time.UTC)
	return ok && len(text) >= len("2006-01-02T15:04:05Z") && text[10] == 'T' && strings.HasSuffix(text, "Z")
}
