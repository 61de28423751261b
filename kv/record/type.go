package record

import (
	"math"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"doorward/kv/fault"
	"doorward/kv/value"
)

// Type is what the values of a field may be.
type Type interface {
	// parse reads a given value, never null, into the text that is stored, or says in one sentence what is wrong with it.
	parse(v jsontext.Value, zone *time.Location) (stored jsontext.Value, fault string)
	// schema is the OpenAPI 3.1 schema of the value as shown, or as taken.
	schema(d Direction) map[string]any
}

// Direction tells a request's schema from a reply's.
type Direction byte

// The directions.
const (
	Reply Direction = iota
	Create
	Change
)

// alsoTaken is a schema of which a request may give values of another type too.
func alsoTaken(d Direction, other string, s map[string]any) map[string]any {
	if d != Reply {
		s["type"] = []string{s["type"].(string), other}
	}
	return s
}

// Surface is the face of the server that a record passes through.
type Surface byte

// The surfaces: V1 is the public contract; Admin takes and shows what is stored besides.
const (
	V1 Surface = iota
	Admin
)

// Date is a day of the calendar, from year 1 to 9999.
type Date struct{}

func (Date) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	if v.Kind() != '"' {
		return nil, fault.Date
	}
	s := strings.TrimSpace(value.Unquote(v))
	if _, ok := value.ParseDate(s); !ok {
		return nil, fault.Date
	}
	return value.Quote(s), ""
}

func (Date) schema(Direction) map[string]any {
	return map[string]any{"type": "string", "format": "date"}
}

// DateTime is a moment, to the microsecond.
type DateTime struct{}

func (DateTime) parse(v jsontext.Value, zone *time.Location) (jsontext.Value, string) {
	if v.Kind() != '"' {
		return nil, fault.DateTime
	}
	t, ok := value.ParseDateTime(strings.TrimSpace(value.Unquote(v)), zone)
	if !ok {
		return nil, fault.DateTime
	}
	return value.Time(t), ""
}

func (DateTime) schema(d Direction) map[string]any {
	if d == Reply {
		return map[string]any{"type": "string", "format": "date-time"}
	}
	return map[string]any{"type": "string",
		"description": "RFC 3339; a space for T, and an offset without colon, are taken; without offset: the configured timezone."}
}

// TimeOfDay is a time of the day, to the minute.
type TimeOfDay struct{}

func (TimeOfDay) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	if v.Kind() != '"' {
		return nil, fault.TimeOfDay
	}
	t, ok := value.ParseTimeOfDay(strings.TrimSpace(value.Unquote(v)))
	if !ok {
		return nil, fault.TimeOfDay
	}
	return value.Quote(t.String()), ""
}

func (TimeOfDay) schema(Direction) map[string]any {
	return map[string]any{"type": "string", "pattern": "^([01]?[0-9]|2[0-3]):[0-5][0-9](:00)?$"}
}

// Ref is the id of a record of a kind; whether there is one is the store's to say.
type Ref struct{ Kind string }

func (r Ref) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	n, ok := value.ReadInteger(v)
	if !ok {
		return nil, fault.NotAnID(typeName(v))
	}
	if n < 1 || n > MaxID {
		s, _ := value.Plain(v)
		return nil, fault.InvalidPK(s)
	}
	return value.Number(n), ""
}

func (Ref) schema(d Direction) map[string]any {
	return Integer{Min: 1, Max: MaxID}.schema(d)
}

// Refs is a list of ids of records of a kind, each once.
type Refs struct{ Kind string }

func (r Refs) parse(v jsontext.Value, zone *time.Location) (jsontext.Value, string) {
	seen := map[string]bool{}
	return list(v, func(e jsontext.Value) (jsontext.Value, string) {
		stored, fault := Ref(r).parse(e, zone)
		if seen[string(stored)] {
			return nil, fault
		}
		seen[string(stored)] = true
		return stored, fault
	})
}

func (r Refs) schema(d Direction) map[string]any {
	return alsoTaken(d, "string", map[string]any{"type": "array", "items": Ref(r).schema(d)})
}

// Hash is a number of hexadecimal digits, 32 where none is said, stored in lower case.
type Hash struct{ Digits int }

func (h Hash) digits() int {
	if h.Digits == 0 {
		return 32
	}
	return h.Digits
}

func (h Hash) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	s, ok := value.Plain(v)
	s = strings.ToLower(s)
	if !ok || len(s) != h.digits() || strings.Trim(s, "0123456789abcdef") != "" {
		return nil, fault.Hex
	}
	return value.Quote(s), ""
}

func (h Hash) schema(Direction) map[string]any {
	return map[string]any{"type": "string", "pattern": "^[0-9A-Fa-f]{" + strconv.Itoa(h.digits()) + "}$"}
}

// ULID is the id of a fact or a node, in upper case.
type ULID struct{}

func (ULID) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	k := Kind{ULID: true}
	s, ok := value.Plain(v)
	if s = strings.ToUpper(s); ok {
		_, ok = k.ParseID(s)
	}
	if !ok {
		return nil, fault.ULID
	}
	return value.Quote(s), ""
}

func (ULID) schema(Direction) map[string]any {
	return map[string]any{"type": "string", "pattern": "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$"}
}

// Items is a list of a form's bodies. What they say is read one by one, by the form: a bad one does not spoil the others.
type Items struct {
	Of  *Kind
	Max int // how many there may be
}

func (t Items) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	if v.Kind() != '[' {
		return nil, fault.NotAList(typeName(v))
	}
	if len(t.Split(v)) > t.Max {
		return nil, fault.TooMany(t.Max)
	}
	return v.Clone(), ""
}

func (t Items) schema(d Direction) map[string]any {
	return map[string]any{"type": "array", "maxItems": t.Max, "items": t.Of.Schema(Admin, d)}
}

// Split takes the list apart.
func (t Items) Split(v jsontext.Value) (items []jsontext.Value) {
	for e := range value.Elements(value.Compact(v)) {
		items = append(items, e.Clone())
	}
	return items
}

// Anything is a JSON value as it was given.
type Anything struct{}

func (Anything) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	return value.Compact(v), ""
}

func (Anything) schema(Direction) map[string]any { return anyJSON() }

// anyJSON is the schema of a value of any type.
func anyJSON() map[string]any {
	return map[string]any{
		"type":                 []string{"string", "number", "boolean", "object", "array", "null"},
		"items":                map[string]any{"description": "Any JSON value."},
		"additionalProperties": true,
	}
}

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
			out = append(value.AppendComma(out), stored...)
		}
	}
	return append(out, ']'), fault
}

// splitList makes a list of a column's text: "1, 2".
func splitList(s string) jsontext.Value {
	out := jsontext.Value{'['}
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == ';' }) {
		if part = strings.TrimSpace(part); part != "" {
			out = value.AppendQuote(value.AppendComma(out), part)
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

// Integer is an integer from Min to Max; both zero: of 32 bits.
type Integer struct{ Min, Max int64 }

func (t Integer) bounds() (low, high int64) {
	if t == (Integer{}) {
		return math.MinInt32, math.MaxInt32
	}
	return t.Min, t.Max
}

func (t Integer) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	n, ok := value.ReadInteger(v)
	low, high := t.bounds()
	switch {
	case !ok:
		return nil, fault.NotInteger
	case n > high:
		return nil, fault.AtMost(high)
	case n < low:
		return nil, fault.AtLeast(low)
	}
	return value.Number(n), ""
}

func (t Integer) schema(d Direction) map[string]any {
	low, high := t.bounds()
	s := map[string]any{"type": "integer", "minimum": low, "maximum": high}
	if low < math.MinInt32 || high > math.MaxInt32 {
		s["format"] = "int64"
	}
	return alsoTaken(d, "string", s)
}

// Bool is true or false, or one of the words for them.
type Bool struct{}

func (Bool) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	var b, ok bool
	switch v.Kind() {
	case 't', 'f':
		b, ok = v[0] == 't', true
	case '"', '0':
		s, _ := value.Plain(v)
		b, ok = value.ParseBool(s)
	}
	switch {
	case !ok:
		return nil, fault.NotBool
	case b:
		return jsontext.Value("true"), ""
	}
	return jsontext.Value("false"), ""
}

func (Bool) schema(d Direction) map[string]any {
	if d == Reply {
		return map[string]any{"type": "boolean"}
	}
	return map[string]any{"type": []string{"boolean", "string", "integer"}}
}

const (
	maxDecimal = 1000 // characters of a decimal, looked at before the decimal library sees it
	maxWhole   = 8    // digits of an amount before the decimal point
	maxPlaces  = 2    // digits of an amount after it
	maxDouble  = 308  // decimal digits of the largest float64
)

// decimalText is what may be given as a decimal: its exponent is bounded too.
var decimalText = regexp.MustCompile(`^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?$`)

// Money is an amount with two places, stored as a string.
type Money struct{}

func (Money) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	d, _, sentence := readDecimal(v)
	switch {
	case sentence != "":
		return nil, sentence
	case -d.Exponent() > maxPlaces:
		return nil, fault.Places
	case !d.IsZero() && d.NumDigits()+int(d.Exponent()) > maxWhole:
		return nil, fault.Whole
	case d.IsZero():
		return jsontext.Value(`"0.00"`), ""
	}
	return value.Quote(d.StringFixed(maxPlaces)), ""
}

func (Money) schema(d Direction) map[string]any {
	if d == Reply {
		return map[string]any{"type": "string", "format": "decimal", "pattern": `^-?\d{1,8}\.\d{2}$`}
	}
	return map[string]any{"type": []string{"string", "number"}, "format": "decimal"}
}

// readDecimal reads a decimal's number or text after looking at its length and exponent.
func readDecimal(v jsontext.Value) (d decimal.Decimal, text, sentence string) {
	text, ok := value.Plain(v)
	switch {
	case !ok:
		return d, "", fault.NotNumber
	case len(text) > maxDecimal:
		return d, "", fault.TooLarge
	case !decimalText.MatchString(text):
		return d, "", fault.NotNumber
	}
	d, err := decimal.NewFromString(text)
	if err != nil {
		return d, "", fault.NotNumber
	}
	return d, text, ""
}

// Double is a number within float64's range, kept as the text it was given in.
type Double struct{}

func (Double) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	d, text, sentence := readDecimal(v)
	if sentence != "" {
		return nil, sentence
	}
	if size := d.NumDigits() + int(d.Exponent()); size > maxDouble || size < -maxDouble {
		if !d.IsZero() {
			return nil, fault.NotNumber
		}
		return jsontext.Value("0"), ""
	}
	if v.Kind() == '0' {
		return jsontext.Value(text).Clone(), ""
	}
	return jsontext.Value(d.String()), ""
}

func (Double) schema(d Direction) map[string]any {
	return alsoTaken(d, "string", map[string]any{"type": "number", "format": "double"})
}
