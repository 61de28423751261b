package record

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/fault"
	"doorward/kv/value"
)

// A deriver is a type that makes its value for each reply.
type deriver interface {
	derive(dst []byte, name string, v *View) []byte
}

// Nested shows the record that a stored id names: {"id":…} and Keys. Without an id it is null, or, where Always, an object
// of nulls.
type Nested struct {
	Kind   string
	ID     string // the field that holds the id
	Keys   []string
	Always bool
}

func (Nested) parse(jsontext.Value, *time.Location) (jsontext.Value, string) { return nil, "" }

func (t Nested) derive(dst []byte, _ string, v *View) []byte {
	id := v.Body.reference(t.ID)
	if value.IsNull(id) && !t.Always {
		return append(dst, "null"...)
	}
	return t.appendRecord(dst, id, v)
}

// appendRecord appends one referred record; the keys of one that is gone are null.
func (t Nested) appendRecord(dst []byte, id jsontext.Value, v *View) []byte {
	var body Body
	if value.IsNull(id) {
		id = jsontext.Value("null")
	} else if k, ok := ByName(t.Kind); ok && v.Ref != nil {
		body, _ = v.Ref(k, Int(value.Int(id)))
	}
	dst = append(append(dst, `{"id":`...), id...)
	for _, key := range t.Keys {
		dst = append(append(append(dst, ',', '"'), key...), '"', ':')
		if value := body.Member(key); value != nil {
			dst = append(dst, value...)
		} else {
			dst = append(dst, "null"...)
		}
	}
	return append(dst, '}')
}

func (t Nested) schema(Direction) map[string]any {
	properties := map[string]any{"id": Ref{}.schema(Reply)}
	if t.Always {
		properties["id"] = withNull(properties["id"].(map[string]any))
	}
	required := append([]string{"id"}, t.Keys...)
	for _, key := range t.Keys {
		properties[key] = map[string]any{"type": []string{"string", "null"}}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// NestedList shows the records that a stored list of ids names.
type NestedList struct {
	Kind string
	IDs  string // the field that holds the ids
	Keys []string
}

func (NestedList) parse(jsontext.Value, *time.Location) (jsontext.Value, string) { return nil, "" }

func (t NestedList) derive(dst []byte, _ string, v *View) []byte {
	one := Nested{Kind: t.Kind, Keys: t.Keys}
	dst = append(dst, '[')
	for id := range value.Elements(v.Body.reference(t.IDs)) {
		dst = one.appendRecord(value.AppendComma(dst), id, v)
	}
	return append(dst, ']')
}

func (t NestedList) schema(d Direction) map[string]any {
	return map[string]any{"type": "array", "items": Nested{Kind: t.Kind, Keys: t.Keys}.schema(d)}
}

// Derived shows what a function makes of the record; As is the type it has in a schema.
type Derived struct {
	Make func(dst []byte, v *View) []byte
	As   Type
}

func (Derived) parse(jsontext.Value, *time.Location) (jsontext.Value, string) { return nil, "" }

func (t Derived) derive(dst []byte, _ string, v *View) []byte { return t.Make(dst, v) }

func (t Derived) schema(Direction) map[string]any { return t.As.schema(Reply) }

// Counted is an integer that is stored where it was imported; otherwise /v1 shows what the view counts. /admin/v1 shows
// what is stored, so that a reply sent back changes nothing.
type Counted struct{}

func (Counted) parse(v jsontext.Value, zone *time.Location) (jsontext.Value, string) {
	return Integer{Max: maxCount}.parse(v, zone)
}

func (Counted) derive(dst []byte, name string, v *View) []byte {
	if n := v.Body.reference(name); !value.IsNull(n) {
		return append(dst, n...)
	}
	if v.Count == nil {
		return append(dst, '0')
	}
	return strconv.AppendInt(dst, int64(v.Count()), 10)
}

func (Counted) schema(d Direction) map[string]any { return Integer{Max: maxCount}.schema(d) }

const maxCount = 1<<31 - 1

// updatedAt and updatedBy are the stamps of this store, which keeps them beside the body.
func updatedAt(dst []byte, v *View) []byte {
	p := v.Page
	if p == nil {
		return value.AppendTime(dst, v.UpdatedAt)
	}
	if p.stamp == nil || !p.stampOf.Equal(v.UpdatedAt) {
		p.stamp, p.stampOf = value.AppendTime(p.stamp[:0], v.UpdatedAt), v.UpdatedAt
	}
	return append(dst, p.stamp...)
}

func updatedBy(dst []byte, v *View) []byte {
	if v.UpdatedBy == 0 {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, v.UpdatedBy, 10)
}

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
		out = append(value.AppendMember(out[:len(out)-1:len(out)-1], key, jsontext.Value("null")), '}')
	}
	return out
}

func (t Object) schema(d Direction) map[string]any {
	s := map[string]any{"type": "object", "additionalProperties": true}
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
