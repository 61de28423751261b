package record

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/scopes"
	"doorward/kv/value"
)

// The records that replication leaves for staff (sync.md §3). The store writes each once; no request changes one.
var (
	// Conflict is a value that a merge did not take. Field "" is the whole record.
	Conflict = table(Kind{Name: "conflict", Number: 22, Version: 1, Resource: "admin", Class: System, System: true, ULID: true,
		scopes: []scopes.Sort{scopes.System},
		Fields: []Field{
			{"kind", Text{Min: 1, Max: 64}, Required | ServerOnly, `""`},
			{"record_id", Text{Min: 1, Max: 64}, Required | ServerOnly | Indexed, `""`},
			{"field", Text{}, ServerOnly, `""`},
			{"winner", Anything{}, ServerOnly | Null, ``},
			{"other", Anything{}, ServerOnly | Null, ``},
			{"at", DateTime{}, ServerOnly | Null, ``},
			{"node", ULID{}, ServerOnly | Null, ``},
		}})

	// Refusal is a pushed document that was not taken. It is kept whole.
	Refusal = table(Kind{Name: "refusal", Number: 23, Version: 1, Resource: "admin", Class: System, System: true, ULID: true,
		scopes: []scopes.Sort{scopes.System},
		Fields: []Field{
			{"db", Text{Min: 1, Max: 255}, Required | ServerOnly, `""`},
			{"doc", Object{}, ServerOnly, `{}`},
			{"reason", Text{}, ServerOnly, `""`},
			{"key_id", keyID, ServerOnly | Null, ``},
			{"at", DateTime{}, ServerOnly | Null, ``},
		}})
)

// Erasure says that a record was erased because of a person: the person itself, a membership, or a ticket with its parts. Names and
// contacts are gone. Its id is a keyed hash of the record's id, so it names no person.
var Erasure = table(Kind{Name: "erasure", Number: 25, Version: 1, Resource: "admin", Class: System, System: true, ULID: true,
	scopes: []scopes.Sort{scopes.System},
	Fields: []Field{
		{"kind", Text{Min: 1, Max: 64}, Required | ServerOnly, `""`},
		{"at", DateTime{}, ServerOnly | Null, ``},
		{"key_id", keyID, ServerOnly | Null, ``},
	}})

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
