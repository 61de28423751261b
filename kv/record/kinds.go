package record

// The kinds (design.md §2).
var (
	Church           = &Kind{}
	Regional         = &Kind{}
	FinancialAccount = &Kind{}
	Category         = &Kind{}
	Subcategory      = &Kind{}
	CostCenter       = &Kind{}
	BusinessUnit     = &Kind{}
	Supplier         = &Kind{}
	Role             = &Kind{}
	Person           = &Kind{}
	Group            = &Kind{}
	Membership       = &Kind{}
	FinancialEntry   = &Kind{}
	Event            = &Kind{}
	Ticket           = &Kind{}
	HolderName       = &Kind{}
	Holder           = &Kind{}
	Checkin          = &Kind{}
	Scan             = &Kind{}
	Undo             = &Kind{}
	APIKey           = &Kind{}
	TicketForm       = &Kind{} // a ticket as its writer sees it: Ticket, HolderName and Holder in one
)

// Kinds are all stored kinds, in order of their numbers.
func Kinds() []*Kind { panic("record") }

// ByName finds a stored kind.
func ByName(name string) (*Kind, bool) { panic("record") }

// ByNumber finds a stored kind.
func ByNumber(n byte) (*Kind, bool) { panic("record") }
