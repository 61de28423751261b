package record

import (
	"math"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/fault"
	"doorward/kv/value"
)

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
	if d != Reply {
		s["type"] = []string{"integer", "string"}
	}
	return s
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
