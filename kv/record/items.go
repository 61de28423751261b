package record

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/fault"
	"doorward/kv/value"
)

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
