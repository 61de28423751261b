package record

import "doorward/kv/scopes"

// Node is a laptop that may join by a code, or has joined by one (sync.md §5). Its events, where it has any, are those of its level
// that it takes along; its grants are what it is enrolled for besides.
var Node = table(Kind{Name: "node", Number: 24, Version: 1, Resource: "admin", Class: System, System: true,
	scopes: []scopes.Sort{scopes.System},
	Fields: []Field{
		{"name", Text{Min: 1, Max: 255}, Required | ServerOnly, `""`},
		{"level", Text{Min: 1}, Required | ServerOnly, `""`},
		{"events", Texts{}, ServerOnly, `[]`},
		{"grants", Texts{}, ServerOnly, `[]`},
		{"node", ULID{}, ServerOnly | Null, ``},
		{"key_id", keyID, ServerOnly | Null, ``},
		{"code_hash", Hash{Digits: 64}, ServerOnly | Secret | Null, ``},
		{"code_expires_at", DateTime{}, ServerOnly | Null, ``},
		{"joined_at", DateTime{}, ServerOnly | Null, ``},
		{"revoked_at", DateTime{}, ServerOnly | Null, ``},
		{"wipe_ordered_at", DateTime{}, ServerOnly | Null, ``},
		{"wiped_at", DateTime{}, ServerOnly | Null, ``},
		{"created_at", DateTime{}, ReadOnly | Hidden | Frozen | Filled, ``},
		{"created_by", keyID, ReadOnly | Hidden | Frozen | Null, ``},
		{"updated_at", Derived{updatedAt, DateTime{}}, ReadOnly | Hidden, ``},
		{"updated_by", Derived{updatedBy, keyID}, ReadOnly | Hidden | Null, ``},
	}})
