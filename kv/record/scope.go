package record

// Scope is a replication database that a record belongs to (sync.md §1): a name, and the id it is about or 0.
type Scope struct {
	Sort ScopeSort
	ID   int64
}

// ScopeSort is the sort of a scope.
type ScopeSort byte

// The sorts. Their numbers are stored.
const (
	ScopeReference ScopeSort = 1 + iota
	ScopeReferenceFinance
	ScopeChurch
	ScopeChurchFinance
	ScopeEvent
	ScopeEventNames
	ScopeEventHolders
	ScopeSystem
)

// String is the database's name: "church-3-finance".
func (s Scope) String() string { panic("record") }

// Scopes are the scopes of a record; home is the id of the church or event it belongs to (Kind.Home), 0 for none.
func (k *Kind) Scopes(id ID, d *Doc, home int64) []Scope { panic("record") }
