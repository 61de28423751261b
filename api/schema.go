package api

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"doorward/kv"

	"github.com/go-json-experiment/json/jsontext"
)

// ownSchemas are the schemas of the answers that are no records, read from the structs they are printed from.
func ownSchemas() map[string]any {
	text, number := map[string]any{"type": "string"}, map[string]any{"type": "integer", "minimum": 0}
	key := structSchema(reflect.TypeFor[keyView]())
	return map[string]any{
		"ruling":  structSchema(reflect.TypeFor[ruling]()),
		"new_key": key,
		"key":     structSchema(reflect.TypeFor[listedKey]()),
		"scans_report": object(map[string]any{"results": map[string]any{"type": "array", "maxItems": maxScans, "items": map[string]any{
			"oneOf": []any{structSchema(reflect.TypeFor[scanned]()), object(map[string]any{
				"error": object(map[string]any{"code": text, "message": text, "details": map[string]any{"type": "object"}}, "code", "message"),
				"at":    typeSchema(reflect.TypeFor[jsontext.Value]()), "nonce": map[string]any{"type": []string{"string", "null"}},
			}, "error", "at", "nonce")}}}}, "results"),
		"status":             structSchema(reflect.TypeFor[statusView]()),
		"double_entry":       structSchema(reflect.TypeFor[doubleView]()),
		"admin_double_entry": structSchema(reflect.TypeFor[adminDoubleView]()),
		"reads":              structSchema(reflect.TypeFor[readsView]()),
		"venue":              structSchema(reflect.TypeFor[venueView]()),
		"history":            historySchema(structSchema(reflect.TypeFor[pastView]())),
		"found":              structSchema(reflect.TypeFor[foundTickets]()),
		"health":             object(map[string]any{"status": text, "reasons": map[string]any{"type": "array", "items": text}}, "status"),
		"document":           map[string]any{"type": "object"},
		"error": object(map[string]any{"error": object(map[string]any{
			"code": text, "message": text, "details": map[string]any{"type": "object"},
		}, "code", "message")}, "error"),
		"import_report": object(map[string]any{"created": number, "updated": number, "unchanged": number,
			"rejected": map[string]any{"type": "array", "items": object(map[string]any{
				"line": number, "column": text, "reason": text}, "line", "column", "reason")},
			"rejected_more":   number,
			"ignored_columns": map[string]any{"type": "array", "items": text},
			"warnings":        map[string]any{"type": "array", "items": text},
		}, "created", "updated", "unchanged", "rejected"),
	}
}

// importParameters are the query string of an import.
var importParameters = []parameterDoc{
	{name: "kind", schema: map[string]any{"type": "string"}, text: "The kind of the records.", required: true},
	{name: "event", schema: map[string]any{"type": "integer"}, text: "The event of the tickets."},
	{name: "map", schema: map[string]any{"type": "string"}, text: "field=column pairs between commas."},
	{name: "dry_run", schema: map[string]any{"type": "boolean"}, text: "Decide everything and write nothing."},
}

// page is the schema of a list's envelope.
func page(item map[string]any) map[string]any {
	link := map[string]any{"type": []string{"string", "null"}, "format": "uri"}
	return object(map[string]any{
		"count": map[string]any{"type": "integer", "minimum": 0}, "next": link, "previous": link,
		"results": map[string]any{"type": "array", "items": item, "maxItems": maxLimit},
	}, "count", "next", "previous", "results")
}

// object is the schema of an object that has no other members.
func object(properties map[string]any, required ...string) map[string]any {
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// structSchema is the schema of a struct as package json prints it.
func structSchema(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	addFields(t, properties, &required)
	return object(properties, required...)
}

func addFields(t reflect.Type, properties map[string]any, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous {
			addFields(f.Type, properties, required)
			continue
		}
		properties[name] = typeSchema(f.Type)
		if !strings.Contains(options, "omitzero") {
			*required = append(*required, name)
		}
	}
}

// typeSchema is the schema of a member's type. The only raw JSON that we print in structs is a date-time or null.
func typeSchema(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[kv.Outcome]():
		return map[string]any{"type": "string", "enum": slices.Sorted(maps.Keys(messages))}
	case reflect.TypeFor[jsontext.Value]():
		return map[string]any{"type": []string{"string", "null"}, "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		s := typeSchema(t.Elem())
		s["type"] = []any{s["type"], "null"}
		return s
	case reflect.Struct:
		return structSchema(t)
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": typeSchema(t.Elem())}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": typeSchema(t.Elem())}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	}
	return map[string]any{"type": "string"}
}
