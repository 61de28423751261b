package record

import "doorward/kv/scopes"

// The reference kinds: what other records name.
var (
	Church = table(Kind{Name: "church", Number: 1, Version: 1, Class: Everyones,
		scopes: []scopes.Sort{scopes.Reference},
		Fields: origin(
			named,
			Field{"regional_id", Ref{"regional"}, Null | Indexed, ``},
		)})

	Regional = table(Kind{Name: "regional", Number: 2, Version: 1, Class: Everyones,
		scopes: []scopes.Sort{scopes.Reference},
		Fields: origin(named)})

	FinancialAccount = table(Kind{Name: "financial_account", Number: 3, Version: 1, Class: Finances,
		Resource: "financial_entries", scopes: []scopes.Sort{scopes.ReferenceFinance},
		Fields: origin(
			named,
			Field{"currency", Text{Max: 3}, Null, ``},
		)})

	Category = table(Kind{Name: "category", Number: 4, Version: 1, Class: Finances,
		Resource: "financial_entries", scopes: []scopes.Sort{scopes.ReferenceFinance},
		Fields: origin(named)})

	Subcategory = table(Kind{Name: "subcategory", Number: 5, Version: 1, Class: Finances,
		Resource: "financial_entries", scopes: []scopes.Sort{scopes.ReferenceFinance},
		Fields: origin(
			named,
			Field{"category_id", Ref{"category"}, Null | Indexed, ``},
		)})

	CostCenter = table(Kind{Name: "cost_center", Number: 6, Version: 1, Class: Finances,
		Resource: "financial_entries", scopes: []scopes.Sort{scopes.ReferenceFinance},
		Fields: origin(named)})

	BusinessUnit = table(Kind{Name: "business_unit", Number: 7, Version: 1, Class: Finances,
		Resource: "financial_entries", scopes: []scopes.Sort{scopes.ReferenceFinance},
		Fields: origin(named)})

	Supplier = table(Kind{Name: "supplier", Number: 8, Version: 1, Class: Finances,
		Resource: "financial_entries", scopes: []scopes.Sort{scopes.ReferenceFinance},
		Fields: origin(
			named,
			Field{"document", Text{Max: 255}, Null, ``},
		)})

	Role = table(Kind{Name: "role", Number: 9, Version: 1, Class: Everyones,
		scopes: []scopes.Sort{scopes.Reference},
		Fields: origin(named)})
)

// named is the row that every reference kind begins with.
var named = Field{"name", Text{Min: 1, Max: 255}, Required, ``}
