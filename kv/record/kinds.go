package record

import "doorward/kv/scopes"

// origin appends the rows that every imported kind has, for kinds that show none of them on /v1.
func origin(rows ...Field) []Field {
	return stamped(append(rows, Field{"external_id", Text{Min: 1, Max: 255}, Null | Hidden | Indexed, ``})...)
}

// stamped appends the rows that say when a record was made and changed, and by which key, for kinds that show none of them on /v1.
func stamped(rows ...Field) []Field {
	return append(rows,
		Field{"created_at", DateTime{}, ReadOnly | Hidden | Frozen | Filled, ``},
		Field{"created_by", keyID, ReadOnly | Hidden | Frozen | Null, ``},
		Field{"updated_at", Derived{updatedAt, DateTime{}}, ReadOnly | Hidden, ``},
		Field{"updated_by", Derived{updatedBy, keyID}, ReadOnly | Hidden | Null, ``},
	)
}

// keyID is the id of the api key that wrote. The key need not exist here.
var keyID = Integer{Min: 1, Max: MaxID}

// The reference kinds: what other records name.
var (
	Church           = reference("church", 1, Field{"regional_id", Ref{"regional"}, Null | Indexed, ``})
	Regional         = reference("regional", 2)
	FinancialAccount = ofFinance("financial_account", 3, Field{"currency", Text{Max: 3}, Null, ``})
	Category         = ofFinance("category", 4)
	Subcategory      = ofFinance("subcategory", 5, Field{"category_id", Ref{"category"}, Null | Indexed, ``})
	CostCenter       = ofFinance("cost_center", 6)
	BusinessUnit     = ofFinance("business_unit", 7)
	Supplier         = ofFinance("supplier", 8, Field{"document", Text{Max: 255}, Null, ``})
	Role             = reference("role", 9)
)

// named is the row that every reference kind begins with.
var named = Field{"name", Text{Min: 1, Max: 255}, Required, ``}

// reference makes a reference kind that every level reads.
func reference(name string, number byte, rows ...Field) *Kind {
	return table(Kind{Name: name, Number: number, Version: 1, Class: Everyones,
		scopes: []scopes.Sort{scopes.Reference}, Fields: origin(append([]Field{named}, rows...)...)})
}

// ofFinance makes a reference kind of the finances.
func ofFinance(name string, number byte, rows ...Field) *Kind {
	return table(Kind{Name: name, Number: number, Version: 1, Class: Finances, Resource: "financial_entries",
		scopes: []scopes.Sort{scopes.ReferenceFinance}, Fields: origin(append([]Field{named}, rows...)...)})
}

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

// APIKey is a key that requests are made with. Only a hash of its secret is kept, and no reply shows it. A key with a node belongs to
// that laptop. Its grants are what the laptop was enrolled for besides its level.
var APIKey = table(Kind{Name: "api_key", Number: 21, Version: 2, Resource: "admin", Class: System, System: true,
	scopes: []scopes.Sort{scopes.System},
	Fields: stamped([]Field{
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
	}...)})

// Node is a laptop that may join by a code, or has joined by one (sync.md §5). Its events, where it has any, are those of its level
// that it takes along; its grants are what it is enrolled for besides.
var Node = table(Kind{Name: "node", Number: 24, Version: 1, Resource: "admin", Class: System, System: true,
	scopes: []scopes.Sort{scopes.System},
	Fields: stamped([]Field{
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
	}...)})
