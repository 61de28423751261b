package record

// kinds are all stored kinds, in order of their numbers.
var kinds = []*Kind{
	Church, Regional, FinancialAccount, Category, Subcategory, CostCenter, BusinessUnit, Supplier, Role,
	Person, Group, Membership, FinancialEntry, Event, Ticket, HolderName, Holder, Checkin, Scan, Undo, APIKey,
	Conflict, Refusal, Node, Erasure, TicketCode, HolderLabel,
}

// kindsByName are the same.
var kindsByName = func() map[string]*Kind {
	m := make(map[string]*Kind, len(kinds))
	for _, k := range kinds {
		m[k.Name] = k
	}
	return m
}()

// Kinds returns all stored kinds, in order of their numbers. The caller must not write to the list.
func Kinds() []*Kind { return kinds }

// ByName finds a stored kind.
func ByName(name string) (*Kind, bool) {
	k, ok := kindsByName[name]
	return k, ok
}

// ByNumber finds a stored kind.
func ByNumber(n byte) (*Kind, bool) {
	if n == 0 || int(n) > len(kinds) {
		return nil, false
	}
	return kinds[n-1], true
}

// origin appends the rows that every imported kind has, for kinds that show none of them on /v1.
func origin(rows ...Field) []Field {
	return append(rows,
		Field{"external_id", Text{Min: 1, Max: 255}, Null | Hidden | Indexed, ``},
		Field{"created_at", DateTime{}, ReadOnly | Hidden | Frozen | Filled, ``},
		Field{"created_by", keyID, ReadOnly | Hidden | Frozen | Null, ``},
		Field{"updated_at", Derived{updatedAt, DateTime{}}, ReadOnly | Hidden, ``},
		Field{"updated_by", Derived{updatedBy, keyID}, ReadOnly | Hidden | Null, ``},
	)
}

// keyID is the id of the api key that wrote. The key need not exist here.
var keyID = Integer{Min: 1, Max: MaxID}
