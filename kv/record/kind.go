package record

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/oklog/ulid/v2"

	"doorward/kv/scopes"
)

// A Kind says in one place what a record of one sort is. Its fields stand in reply order: stored ones first, then nested
// and derived ones. Everything that handles records reads this table; there is no other list of field names.
type Kind struct {
	Name     string // singular: "person"; also the admin path and the _id prefix
	Number   byte   // the kind's number in keys; never reused
	Version  byte   // the table's number: a body written under another is re-encoded when read
	Resource string // the resource of a permission: "people"
	Class    Class  // the rule by which keys see and change it
	ULID     bool   // ids are ULIDs, not integers
	Fact     bool   // written once, never changed
	System   bool   // not imported, not written by /admin/v1/{kind}
	Home     string // the field that names the church ("church_id", "person") or event ("event_id") it belongs to; "" = none
	Fields   []Field

	scopes []scopes.Sort // the databases its records belong to
	layout               // made of Fields by table
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
	Events                 // ticket, its code and holdings, and facts: as their event
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
	Secret                       // shown on no surface and in no schema
	Filled                       // Settle gives it a value: never null in a reply
	Document                     // ranked search finds it by all its digits; other searches do not read it
	Personal                     // says something of a person
	Together                     // a merge takes the fields with this flag from one side (Merge)
	Union                        // merge rule: a list of all that either side has
)

// Has reports whether any of the given flags is set.
func (f Flags) Has(g Flags) bool { return f&g != 0 }

// GoString prints a kind by its name alone.
func (k *Kind) GoString() string { return "record." + k.Name }

// Field returns a row of the table.
func (k *Kind) Field(name string) (*Field, bool) {
	i, ok := k.names[name]
	if !ok {
		return nil, false
	}
	return &k.Fields[i], true
}

// Stored reports whether the field is part of the body. Other fields are made for a reply.
func (f *Field) Stored() bool {
	switch f.Type.(type) {
	case Nested, NestedList, Derived:
		return false
	}
	return true
}

// Settable reports whether a request on a surface may set the field.
func (f *Field) Settable(s Surface) bool {
	if !f.Stored() || f.Flags.Has(ServerOnly|Secret) {
		return false
	}
	return s == Admin || !f.Flags.Has(ReadOnly|Hidden)
}

// Shown reports whether a reply on a surface has the field.
func (f *Field) Shown(s Surface) bool {
	if f.Flags.Has(Secret) {
		return false
	}
	return s == Admin || !f.Flags.Has(WriteOnly|Hidden)
}

// TakesNull reports whether a request on a surface may set the field to null: on V1 where the contract lists it, on Admin
// also where null is what an absent field has.
func (f *Field) TakesNull(s Surface) bool {
	return f.Flags.Has(Null) || s == Admin && f.Default == "" && !f.Flags.Has(Required)
}

// Spoken reports whether searches compare the field's words. Of a phone or a number they compare the digits.
func (f *Field) Spoken() bool {
	switch f.Type.(type) {
	case Phone, Integer:
		return false
	}
	return true
}

// IsName reports whether searches forgive edits in the field's words.
func (f *Field) IsName() bool {
	_, text := f.Type.(Text)
	return text && f.Flags.Has(Searched)
}

// initial returns the value of an absent field.
func (f *Field) initial() jsontext.Value {
	if f.Default == "" {
		return jsontext.Value("null")
	}
	return jsontext.Value(f.Default)
}

// null returns the value that a field stores for null.
func (f *Field) null() jsontext.Value {
	if o, ok := f.Type.(Object); ok && len(o.Keys) > 0 {
		return f.initial()
	}
	return jsontext.Value("null")
}

// layout is a table in the forms that hot paths read. Numbers are indexes into Fields. No one writes to the lists.
type layout struct {
	names         map[string]int
	labels        []string         // each field's name as it stands before its value: "full_name":
	shown, hidden []int            // the first run and the second
	template      *template        // of this Version; nil: bodies are not packed
	initial       []jsontext.Value // what a record of defaults holds, nil where not stored; records share it, and no one writes to it
	leftOut       []bool           // fields that the second run leaves out when they are null
	derived       []maker          // what is made for a reply
	nested        int              // from which of them on each is made of one stored field
	sorted        []int            // stored fields by the bytes of their names
	never         []int            // stored fields that are never null in a reply
	Lookups       []*Field         // that have a lookup
	Searched      []*Field         // that searches read
	Ranked        []*Field         // that ranked searches read: the searched ones, and documents
	OfPeople      bool             // its records are people, or name one
	rules         []settler
}

// A settler keeps a kind's own rules (Doc.Settle).
type settler func(d, before *Doc, m Moment)

// table completes a kind. rules are its own rules, if it has any.
func table(k Kind, rules ...settler) *Kind {
	n := len(k.Fields)
	k.layout = layout{names: make(map[string]int, n), labels: make([]string, n), initial: make([]jsontext.Value, n), leftOut: make([]bool, n), rules: rules}
	for i := range k.Fields {
		f := &k.Fields[i]
		if _, twice := k.names[f.Name]; twice {
			panic("record: " + k.Name + " has two fields " + f.Name)
		}
		k.names[f.Name] = i
		k.labels[i] = `"` + f.Name + `":`
		if f.Flags.Has(Indexed) {
			k.Lookups = append(k.Lookups, f)
		}
		if f.Flags.Has(Searched) {
			k.Searched = append(k.Searched, f)
		}
		if f.Flags.Has(Searched | Document) {
			k.Ranked = append(k.Ranked, f)
		}
		place(&k, i, f)
		k.OfPeople = k.OfPeople || f.Flags.Has(Personal) || f.Type == Ref{"person"}
	}
	for _, i := range k.hidden {
		k.leftOut[i] = k.Fields[i].Default == "" && !slices.ContainsFunc(k.derived, func(m maker) bool { return m.source == k.Fields[i].Name })
	}
	k.OfPeople = k.OfPeople || k.Name == "person" || k.Name == "ticket" // which is shown with its holder
	slices.SortFunc(k.sorted, func(a, b int) int { return strings.Compare(k.Fields[a].Name, k.Fields[b].Name) })
	addTemplates(&k)
	return &k
}

// place adds a field to its runs.
func place(k *Kind, i int, f *Field) {
	_, made := f.Type.(deriver)
	if made {
		m := newMaker(k, i)
		k.derived = append(k.derived, m)
		if m.source == "" {
			k.nested = len(k.derived)
		}
	}
	switch {
	case !f.Stored():
		return
	case !made && f.Shown(V1):
		k.shown = append(k.shown, i)
	default:
		k.hidden = append(k.hidden, i)
	}
	k.initial[i] = slices.Clip(f.initial())
	k.sorted = append(k.sorted, i)
	if !f.mayShowNull(Admin) {
		k.never = append(k.never, i)
	}
}

// Scopes returns the scopes of a record. home is the id of the church or event it belongs to (Kind.Home), or 0. A person or entry
// without a church is in none; only the mirror of all records has it.
func (k *Kind) Scopes(id ID, home int64) []scopes.Scope {
	out := make([]scopes.Scope, 0, len(k.scopes))
	for _, sort := range k.scopes {
		switch {
		case sort == scopes.Reference || sort == scopes.ReferenceFinance || sort == scopes.System:
			out = append(out, scopes.Scope{Sort: sort})
		case sort == scopes.Event && k.Class == Shared:
			out = append(out, scopes.Scope{Sort: sort, ID: id.Int()})
		case home != 0:
			out = append(out, scopes.Scope{Sort: sort, ID: home})
		case k.Class == Shared:
			out = append(out, scopes.Scope{Sort: scopes.Reference})
		}
	}
	return out
}

// KindsIn returns the kinds that a scope of this sort may hold records of, in order of their numbers.
func KindsIn(s scopes.Sort) []*Kind {
	var found []*Kind
	for _, k := range kinds {
		shared := s == scopes.Reference && k.Class == Shared // those of no church
		ended := s == scopes.EventHolders && k == HolderName // those of holdings that have ended
		if shared || ended || slices.Contains(k.scopes, s) {
			found = append(found, k)
		}
	}
	return found
}

// Form returns the kind of a request's body that is no record. It is for Parse and Schema; no store has it.
func Form(name string, fields ...Field) *Kind {
	return table(Kind{Name: name, Version: 1, Fields: fields})
}

// FirstDrawn is the first of the ids that are drawn at random, where no range was leased (design.md §4).
const FirstDrawn = 1 << 52

// MaxID is the largest integer id: the largest integer every JSON client holds exactly.
const MaxID = 1<<53 - 1

// ID names a record within its kind: an integer from 1 to MaxID, or a ULID for facts and nodes. IDs are comparable and
// ordered as their keys are.
type ID struct{ hi, lo uint64 }

// Int makes the id of a kind that counts its records.
func Int(n int64) ID { return ID{lo: uint64(n)} }

// FromULID makes the id of a fact.
func FromULID(u ulid.ULID) ID {
	return ID{hi: binary.BigEndian.Uint64(u[:8]), lo: binary.BigEndian.Uint64(u[8:])}
}

// Int is the integer of a counting kind's id.
func (id ID) Int() int64 { return int64(id.lo) }

// ULID is the ULID of a fact's id.
func (id ID) ULID() (u ulid.ULID) {
	binary.BigEndian.PutUint64(u[:8], id.hi)
	binary.BigEndian.PutUint64(u[8:], id.lo)
	return u
}

// IsZero tells an id that names nothing.
func (id ID) IsZero() bool { return id == ID{} }

// Compare orders ids: -1, 0 or 1.
func (id ID) Compare(o ID) int {
	switch {
	case id == o:
		return 0
	case id.hi < o.hi || id.hi == o.hi && id.lo < o.lo:
		return -1
	}
	return 1
}

// AppendID appends id's key as kind k's rows are keyed: 8 bytes for an integer, 16 for a ULID, both big-endian.
func (k *Kind) AppendID(dst []byte, id ID) []byte {
	if k.ULID {
		dst = binary.BigEndian.AppendUint64(dst, id.hi)
	}
	return binary.BigEndian.AppendUint64(dst, id.lo)
}

// KeyID reads the id that AppendID wrote; ok is false where the length is another.
func (k *Kind) KeyID(key []byte) (id ID, ok bool) {
	if len(key) != k.IDSize() {
		return ID{}, false
	}
	if k.ULID {
		return ID{binary.BigEndian.Uint64(key), binary.BigEndian.Uint64(key[8:])}, true
	}
	return ID{lo: binary.BigEndian.Uint64(key)}, true
}

// IDSize is the length in bytes of a key made by AppendID.
func (k *Kind) IDSize() int {
	if k.ULID {
		return 16
	}
	return 8
}

// FormatID prints id as a path and a reply show it: digits, or an upper-case ULID.
func (k *Kind) FormatID(id ID) string {
	if k.ULID {
		return id.ULID().String()
	}
	return strconv.FormatInt(id.Int(), 10)
}

// ParseID reads what a path holds; ok is false for anything that can name no record of this kind.
func (k *Kind) ParseID(s string) (id ID, ok bool) {
	if k.ULID {
		u, err := ulid.ParseStrict(s)
		return FromULID(u), err == nil && u.String() == s && u != ulid.ULID{} // zero names nothing
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return ID{}, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return Int(n), err == nil && 1 <= n && n <= MaxID
}

// DocID is the record's name in replication: kind, colon, 16 digits or an upper-case ULID.
func (k *Kind) DocID(id ID) string {
	var room [64]byte
	return string(appendDocID(room[:0], k, id))
}

func appendDocID(dst []byte, k *Kind, id ID) []byte {
	dst = append(append(dst, k.Name...), ':')
	if k.ULID {
		return append(dst, k.FormatID(id)...)
	}
	for least := int64(1e15); least > max(id.Int(), 1); least /= 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, id.Int(), 10)
}

// ParseDocID reads what DocID wrote. ok is false for anything else, and for a kind that this version does not have.
func ParseDocID(text string) (k *Kind, id ID, ok bool) {
	name, rest, _ := strings.Cut(text, ":")
	if k, ok = ByName(name); !ok {
		return nil, ID{}, false
	}
	if !k.ULID {
		rest = strings.TrimLeft(rest, "0")
	}
	id, ok = k.ParseID(rest)
	var room [64]byte
	return k, id, ok && string(appendDocID(room[:0], k, id)) == text
}

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

// Tables is a number that grows with each kind and each Version.
func Tables() (n uint64) {
	for _, k := range kinds {
		n += uint64(k.Version)
	}
	return n
}

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

// OfHolding reports whether the kind's records are parts of a holding.
func (k *Kind) OfHolding() bool { return k == HolderName || k == Holder || k == HolderLabel }

// OfTicket reports whether the kind's records are written with a ticket, by whoever writes that.
func (k *Kind) OfTicket() bool { return k == TicketCode || k.OfHolding() && k != HolderLabel }
