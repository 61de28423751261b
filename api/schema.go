package api

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/overview"
	"doorward/api/query"
	"doorward/kv/outcome"
)

// ownSchemas are the schemas of the answers that are no records, read from the structs they are printed from.
func ownSchemas() map[string]any {
	text, number := map[string]any{"type": "string"}, map[string]any{"type": "integer", "minimum": 0}
	key := structSchema(reflect.TypeFor[keyView]())
	return map[string]any{
		"session": structSchema(reflect.TypeFor[sessionView]()),
		"decoded": structSchema(reflect.TypeFor[decoded]()),
		"ruling":  structSchema(reflect.TypeFor[ruling]()),
		"new_key": key,
		"key":     structSchema(reflect.TypeFor[listedKey]()),
		"scans_report": object(map[string]any{"results": map[string]any{"type": "array", "maxItems": maxScans, "items": map[string]any{
			"oneOf": []any{structSchema(reflect.TypeFor[scanned]()), object(map[string]any{
				"error": errorViewSchema(),
				"at":    typeSchema(reflect.TypeFor[jsontext.Value]()), "nonce": map[string]any{"type": []string{"string", "null"}},
			}, "error", "at", "nonce")}}}}, "results"),
		"status":             structSchema(reflect.TypeFor[statusView]()),
		"double_entry":       structSchema(reflect.TypeFor[doubleView]()),
		"review":             structSchema(reflect.TypeFor[reviewView]()),
		"admin_double_entry": structSchema(reflect.TypeFor[adminDoubleView]()),
		"reads":              structSchema(reflect.TypeFor[readsView]()),
		"venue":              structSchema(reflect.TypeFor[overview.Laptop]()),
		"history":            historySchema(structSchema(reflect.TypeFor[pastView]())),
		"found":              structSchema(reflect.TypeFor[foundTickets]()),
		"health":             object(map[string]any{"status": text, "reasons": list(text), "events": list(number)}, "status"),
		"document":           map[string]any{"type": "object"},
		"error":              errorSchema(),
		"import_report": object(map[string]any{"created": number, "updated": number, "unchanged": number,
			"rejected": map[string]any{"type": "array", "items": object(map[string]any{
				"line": number, "column": text, "reason": text}, "line", "column", "reason")},
			"rejected_more":   number,
			"reasons":         list(object(map[string]any{"column": text, "reason": text, "count": number, "lines": list(number)}, "column", "reason", "count", "lines")),
			"ignored_columns": list(text),
			"warnings":        list(text),
			"source":          text,
			"columns":         list(object(map[string]any{"field": text, "column": text, "why": text, "samples": list(text)}, "field", "column", "why", "samples")),
			"states":          map[string]any{"type": "object", "additionalProperties": number},
			"types": list(object(map[string]any{"name": text, "count": number, "named": number, "left_out": map[string]any{"type": "boolean"}},
				"name", "count", "named")),
			"left_out":        number,
			"checked_in":      number,
			"admitted":        number,
			"looks_like":      list(object(map[string]any{"line": number, "id": text, "by": text}, "line", "id", "by")),
			"looks_like_more": number,
		}, "created", "updated", "unchanged", "rejected"),
	}
}

// list is the schema of an array.
func list(items map[string]any) map[string]any {
	return map[string]any{"type": "array", "items": items}
}

// importParameters are the query string of an import.
var importParameters = []parameterDoc{
	{name: "kind", schema: map[string]any{"type": "string"}, text: "The kind of the records.", required: true},
	{name: "event", schema: map[string]any{"type": "integer"}, text: "The event of the tickets. It beats any column."},
	{name: "from", schema: map[string]any{"type": "string"}, text: "The system that wrote the file: pretix-positions, sympla …; none = no known one. Left out, it is found by the titles."},
	{name: "sheet", schema: map[string]any{"type": "string"}, text: "The sheet of a workbook, where several hold a list."},
	{name: "map", schema: map[string]any{"type": "string"}, text: "field=column pairs between commas. A + joins columns: full_name=First name+Last name."},
	{name: "ignore", schema: list(map[string]any{"type": "string"}), text: "A column that is not read. It may be given several times."},
	{name: "states", schema: map[string]any{"type": "string"}, text: "word=state pairs between commas: what a word of the file says of a ticket."},
	{name: "dates", schema: map[string]any{"type": "string", "enum": []string{"dmy", "mdy", "ymd"}}, text: "The order of day, month and year, where the dates of a column do not show it."},
	{name: "zone", schema: map[string]any{"type": "string"}, text: "The time zone of times that name none. Left out, it is the server's."},
	{name: "only_type", schema: list(map[string]any{"type": "string"}), text: "A type of tickets that is taken; the others are left out. It may be given several times."},
	{name: "checkins", schema: map[string]any{"type": "boolean"}, text: "Check in the tickets that the file says were used."},
	{name: "reinstate", schema: map[string]any{"type": "boolean"}, text: "Let in again, where the file says so, tickets that are blocked, refunded or cancelled here. Left out, these rows are refused."},
	{name: "yes", schema: map[string]any{"type": "boolean"}, text: "Add new people, also those that look like people in the store."},
	{name: "dry_run", schema: map[string]any{"type": "boolean"}, text: "Decide everything and write nothing."},
}

// page is the schema of a list's envelope.
func page(item map[string]any) map[string]any {
	link := map[string]any{"type": []string{"string", "null"}, "format": "uri"}
	return object(map[string]any{
		"count": map[string]any{"type": "integer", "minimum": 0}, "next": link, "previous": link,
		"results": map[string]any{"type": "array", "items": item, "maxItems": query.MaxLimit},
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
	case reflect.TypeFor[outcome.Outcome]():
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
