package record

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/fault"
	"doorward/kv/value"
)

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
	s := map[string]any{"type": "integer", "minimum": 1, "maximum": int64(MaxID)}
	if d != Reply {
		s["type"] = []string{"integer", "string"}
	}
	return s
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
	s := map[string]any{"type": "array", "items": Ref(r).schema(d)}
	if d != Reply {
		s["type"] = []string{"array", "string"}
	}
	return s
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
