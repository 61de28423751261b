package record

// A Kind says in one place what a record of one sort is. Its fields stand in reply order: stored ones first, then nested
// and derived ones. Everything that handles records reads this table; there is no other list of field names.
type Kind struct {
	Name     string // singular: "person"; also the admin path and the _id prefix
	Number   byte   // the kind's number in keys; never reused
	Version  byte   // the table's number: a body written under another is re-encoded when read
	Resource string // the resource of a permission: "people"
	Class    Class  // who may see and change it
	ULID     bool   // ids are ULIDs, not integers
	Fact     bool   // written once, never changed
	System   bool   // not imported, not written by /admin/v1/{kind}
	Home     string // the field whose record decides the church ("church_id", "person") or event ("event_id") it belongs to; "" = none
	Fields   []Field
}

// Class is the rule by which a key sees a record (contract.md §7).
type Class byte

// The classes.
const (
	Everyones Class = iota // church, regional, role: read at every level, changed at denomination
	Finances               // finance reference kinds: read at church level and above, changed at denomination
	Churches               // person, financial_entry: by their church; without one, denomination only
	Shared                 // event, group: by their church; without one, read at church level and above, changed at denomination
	Members                // membership: where both its person and its group are seen
	Events                 // ticket, holder_name, holder and facts: as their event
	System                 // api_key
)

// Field is one row of a kind's table. Default is JSON text, the value of an absent field; "" means null.
type Field struct {
	Name    string
	Type    Type
	Flags   Flags
	Default string
}

// Flags are a field's yes-or-no properties.
type Flags uint16

// The flags.
const (
	Null       Flags = 1 << iota // takes null
	Required                     // must be given on create
	ReadOnly                     // /v1 clients cannot set it; /admin and import can
	WriteOnly                    // stored and never shown on /v1 under this name
	Hidden                       // neither set nor shown on /v1: admin and import only
	Indexed                      // has a lookup: filters and uniqueness
	Searched                     // people search reads it
	Frozen                       // the first non-null value stays (merge rule `first`)
	Strict                       // merge rule `strict`
	ServerOnly                   // set by the store alone, whatever the surface
)

// Has tells whether any of the given flags is set.
func (f Flags) Has(g Flags) bool { return f&g != 0 }
