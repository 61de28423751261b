package record

import "doorward/kv/scopes"

// APIKey is a key that requests are made with. Only a hash of its secret is kept, and no reply shows it. A key with a node belongs to
// that laptop. Its grants are what the laptop was enrolled for besides its level.
var APIKey = table(Kind{Name: "api_key", Number: 21, Version: 2, Resource: "admin", Class: System, System: true,
	scopes: []scopes.Sort{scopes.System},
	Fields: []Field{
		{"name", Text{Min: 1, Max: 255}, Required, ``},
		{"key", Text{Min: 1, Max: 64}, ServerOnly | Indexed, ``},
		{"level", Text{Min: 1}, Required, ``},
		{"permissions", Texts{}, 0, `[]`},
		{"expires_at", DateTime{}, Null, ``},
		{"revoked_at", DateTime{}, ReadOnly | Null, ``},
		{"rate_limit", Integer{Min: 1, Max: maxCount}, Null, ``},
		{"node", ULID{}, ServerOnly | Null, ``},
		{"grants", Texts{}, ServerOnly, `[]`},
		{"secret_hash", Hash{Digits: 64}, ServerOnly | Secret, ``},
		{"created_at", DateTime{}, ReadOnly | Hidden | Frozen | Filled, ``},
		{"created_by", keyID, ReadOnly | Hidden | Frozen | Null, ``},
		{"updated_at", Derived{updatedAt, DateTime{}}, ReadOnly | Hidden, ``},
		{"updated_by", Derived{updatedBy, keyID}, ReadOnly | Hidden | Null, ``},
	}})
