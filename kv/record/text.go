package record

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/fault"
	"doorward/kv/value"
)

// Text is a string, trimmed, of Min to Max characters; Max 0 is no limit. With Min 1 a blank one is refused. Numbers are
// taken as their text.
type Text struct{ Min, Max int }

func (t Text) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	s, fault := t.read(v)
	if fault != "" {
		return nil, fault
	}
	return value.Quote(s), ""
}

// read trims a text and holds it against the limits.
func (t Text) read(v jsontext.Value) (s, sentence string) {
	s, ok := value.Plain(v)
	switch {
	case !ok:
		return "", fault.NotString
	case strings.IndexByte(s, 0) >= 0:
		return "", fault.NUL
	case s == "" && t.Min > 0:
		return "", fault.Blank
	case t.Max > 0 && len(s) > t.Max && utf8.RuneCountInString(s) > t.Max:
		return "", fault.TooLong(t.Max)
	}
	return s, ""
}

func (t Text) schema(d Direction) map[string]any {
	s := alsoTaken(d, "number", map[string]any{"type": "string"})
	if t.Min > 0 && d != Reply {
		s["minLength"] = t.Min
	}
	if t.Max > 0 {
		s["maxLength"] = t.Max
	}
	return s
}

// Phone is a Text that a search compares by its digits.
type Phone struct{ Text }

// Texts is a list of texts, none of them blank.
type Texts struct{}

func (Texts) parse(v jsontext.Value, zone *time.Location) (jsontext.Value, string) {
	return list(v, func(e jsontext.Value) (jsontext.Value, string) { return Text{Min: 1}.parse(e, zone) })
}

func (Texts) schema(d Direction) map[string]any {
	return alsoTaken(d, "string", map[string]any{"type": "array", "items": Text{Min: 1}.schema(d)})
}

// Choice is one of some texts.
type Choice []string

func (c Choice) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	s, ok := value.Plain(v)
	switch {
	case !ok:
		return nil, fault.NotAChoice(string(v))
	case !slices.Contains(c, s):
		return nil, fault.NotAChoice(s)
	}
	return value.Quote(s), ""
}

func (c Choice) schema(Direction) map[string]any {
	return map[string]any{"type": "string", "enum": []string(c)}
}

// list reads a list element by element; where it comes as one text, that is split on commas.
func list(v jsontext.Value, one func(jsontext.Value) (jsontext.Value, string)) (jsontext.Value, string) {
	given := v
	switch v.Kind() {
	case '"':
		given = splitList(value.Unquote(v))
	case '[':
		given = value.Compact(v)
	default:
		return nil, fault.NotAList(typeName(v))
	}
	out, fault := jsontext.Value{'['}, ""
	for e := range value.Elements(given) {
		stored, f := one(e)
		if fault == "" {
			fault = f
		}
		if stored != nil {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, stored...)
		}
	}
	return append(out, ']'), fault
}

// splitList makes a list of a column's text: "1, 2".
func splitList(s string) jsontext.Value {
	out := jsontext.Value{'['}
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == ';' }) {
		if part = strings.TrimSpace(part); part != "" {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, value.Quote(part)...)
		}
	}
	return append(out, ']')
}

// typeName returns the name that Django REST framework gives a value's type in its sentences.
func typeName(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		return "str"
	case '[':
		return "list"
	case '{':
		return "dict"
	case 't', 'f':
		return "bool"
	case '0':
		if strings.ContainsAny(string(v), ".eE") {
			return "float"
		}
		return "int"
	}
	return "NoneType"
}

var (
	emailUser = regexp.MustCompile("(?i)^[-!#$%&'*+/=?^_`{}|~0-9a-z]+(\\.[-!#$%&'*+/=?^_`{}|~0-9a-z]+)*$|" +
		`^"([\x01-\x08\x0b\x0c\x0e-\x1f!#-\[\]-\x7f]|\\[\x01-\x09\x0b\x0c\x0e-\x7f])*"$`)
	emailDomain = regexp.MustCompile(`(?i)^([a-z0-9\pL]([a-z0-9\pL\pM-]{0,61}[a-z0-9\pL\pM])?\.)+[a-z0-9\pL-]{1,62}[a-z0-9\pL\pM]$`)
)

// Email is an address by the grammar of Django's validator, its case kept; blank is taken.
type Email struct{ Max int }

func (t Email) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	s, sentence := Text{Max: t.Max}.read(v)
	switch {
	case sentence != "":
		return nil, sentence
	case s != "" && !validEmail(s):
		return nil, fault.Email
	}
	return value.Quote(s), ""
}

func (t Email) schema(d Direction) map[string]any {
	s := Text{Max: t.Max}.schema(Reply)
	if d == Reply {
		s["description"] = "An e-mail address, or blank."
		return s
	}
	s["format"] = "email"
	return s
}

func validEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 1 || !emailUser.MatchString(s[:at]) {
		return false
	}
	domain := s[at+1:]
	if inner, ok := strings.CutPrefix(domain, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		return ok && err == nil && addr.Zone() == ""
	}
	return strings.EqualFold(domain, "localhost") || emailDomain.MatchString(domain)
}

// URL is an absolute http or https address, not blank.
type URL struct{ Max int }

func (t URL) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	return readURL(v, t.Max, "http", "https")
}

func (t URL) schema(d Direction) map[string]any {
	s := Text{Max: t.Max}.schema(Reply)
	s["format"] = "uri"
	return s
}

// Photo is the https address of a picture; it is never fetched.
type Photo struct{}

func (Photo) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	return readURL(v, 0, "https")
}

func (Photo) schema(d Direction) map[string]any { return URL{}.schema(d) }

// readURL reads an absolute address with one of the schemes, kept as it is written.
func readURL(v jsontext.Value, limit int, schemes ...string) (jsontext.Value, string) {
	s, sentence := Text{Min: 1, Max: limit}.read(v)
	if sentence != "" {
		return nil, sentence
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || strings.ContainsFunc(s, unicode.IsSpace) || !slices.Contains(schemes, u.Scheme) {
		return nil, fault.URL
	}
	return value.Quote(s), ""
}
