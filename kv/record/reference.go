package record

import "doorward/kv/scopes"

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
