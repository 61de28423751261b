package record

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/fault"
	"doorward/kv/value"
)

// Object is an object kept as it was given, unknown keys too, if no number in it is too long. Where Keys are named all of them are always there, null when
// not given, and null stands for the object in which all are.
type Object struct{ Keys []string }

func (t Object) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	if v.Kind() != '{' {
		return nil, fault.NotAnObject(typeName(v))
	}
	if value.HasLongNumber(v) {
		return nil, fault.LongNumber
	}
	return t.fill(value.Compact(v)), ""
}

// fill is an object with the keys that it lacks; one that lacks none is its own answer.
func (t Object) fill(v jsontext.Value) jsontext.Value {
	run := Body{Shown: v[1 : len(v)-1]}
	out := v
	for _, key := range t.Keys {
		if run.Member(key) != nil {
			continue
		}
		if out = out[: len(out)-1 : len(out)-1]; len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, value.Quote(key)...), ':'), "null}"...)
	}
	return out
}

func (t Object) schema(d Direction) map[string]any {
	s := map[string]any{"type": "object"}
	if len(t.Keys) == 0 {
		return s
	}
	properties := map[string]any{}
	for _, key := range t.Keys {
		properties[key] = anyJSON()
	}
	s["properties"] = properties
	if d == Reply {
		s["required"] = t.Keys
	}
	return s
}

// Objects is a list of objects, each kept as it was given, with Keys as in Object.
type Objects struct{ Keys []string }

func (t Objects) parse(v jsontext.Value, zone *time.Location) (jsontext.Value, string) {
	if v.Kind() != '[' {
		return nil, fault.NotAList(typeName(v))
	}
	return list(v, func(e jsontext.Value) (jsontext.Value, string) { return Object(t).parse(e, zone) })
}

func (t Objects) schema(d Direction) map[string]any {
	return map[string]any{"type": "array", "items": Object(t).schema(d)}
}
