package record

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

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
	return alsoTaken(d, "string", map[string]any{"type": "integer", "minimum": 1, "maximum": int64(MaxID)})
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
		"type":  []string{"string", "number", "boolean", "object", "array", "null"},
		"items": map[string]any{"description": "Any JSON value."},
	}
}
