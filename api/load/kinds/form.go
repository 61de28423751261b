package kinds

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"doorward/api/load/words"
	"doorward/kv/record"
)

// ErrUsage is returned for a request that cannot be meant.
var ErrUsage = errors.New("wrong usage")

// Form is a kind as files have it: what its rows are written as, and the table that names its columns.
type Form struct {
	Kind  *record.Kind
	Table *record.Kind // record.TicketForm for tickets, otherwise kind
}

// Two names that a file may have beside a table's own: the record's public id, and the id it has where it came from.
const (
	ID         = "id"
	ExternalID = "external_id"
	Kind       = "kind"
	Event      = "event_id"
	Code       = "code"
	State      = "state"
	HolderName = "holder_name"
	Order      = "order"
	FullName   = "full_name"
	CPF        = "cpf"
	Email      = "email"
	Type       = "type"
	Birthday   = "birthday"
	Church     = "church_id"
	IsActive   = "is_active"
	Inactive   = "inactive_reason"
	Checkin    = "check-in" // not a field: what a list says of used tickets

	InactiveDetails = "inactive_reason_details"

	Person   = "person"
	GroupID  = "group_id"
	Approved = "is_approved"
)

// The columns by which a list of memberships names a group and a person, beside those of a list of people.
const (
	Group    = "group"              // its external_id or its name
	PersonID = "person_external_id" // the person's external_id, with the system that it is of or without
)

// naming are the columns by which a list of memberships names its groups and people.
var naming = append([]record.Field{{Name: Group, Type: record.Text{Max: 255}}, {Name: PersonID, Type: record.Text{Max: 255}}},
	ofPeople(FullName, CPF, Email, "phone", "mobile_phone", Birthday, Church)...)

func ofPeople(names ...string) (out []record.Field) {
	for _, name := range names {
		f, _ := record.Person.Field(name)
		out = append(out, *f)
	}
	return out
}

// order has the kinds that a file may hold, each after those it refers to: no facts, no keys, and of a ticket's records the one that stands
// for all.
var order = []*record.Kind{
	record.Regional, record.Church, record.FinancialAccount, record.Category, record.Subcategory, record.CostCenter, record.BusinessUnit,
	record.Supplier, record.Role, record.Person, record.Group, record.Membership, record.FinancialEntry, record.Event, record.Ticket,
}

// All are the kinds that can be imported, each after those it refers to.
func All() (out []Form) {
	for _, k := range order {
		out = append(out, New(k))
	}
	return out
}

// New is the form of a kind.
func New(k *record.Kind) Form {
	if k == record.Ticket {
		return Form{Kind: k, Table: record.TicketForm}
	}
	return Form{Kind: k, Table: k}
}

// Of finds an importable kind by its name.
func Of(name string) (Form, error) {
	for _, f := range All() {
		if f.Kind.Name == name {
			return f, nil
		}
	}
	names := Names()
	return Form{}, fmt.Errorf("%w: there is no kind “%s” to import or export%s; the kinds are %s",
		ErrUsage, name, words.DidYouMean(name, names), strings.Join(names, ", "))
}

// Names are the kinds that can be imported and exported, each after those it refers to.
func Names() (names []string) {
	for _, f := range All() {
		names = append(names, f.Kind.Name)
	}
	return names
}

// Has tells whether a file may give a value under a name.
func (f Form) Has(name string) bool {
	return name == ID || name == ExternalID || f.Field(name) != nil
}

// Field is the table's row of a name that a file may set; nil for id and external_id where the table has none.
func (f Form) Field(name string) *record.Field {
	if field, ok := f.Table.Field(name); ok && settable(field) {
		return field
	}
	return nil
}

// Naming are the columns of a table that name the records that a row refers to, and are no fields of its own.
func (f Form) Naming() []record.Field {
	if f.Kind == record.Membership {
		return naming
	}
	return nil
}

// NamedBy are the columns that name the record which a field refers to, the usual one first. An e-mail alone is not enough: families share one.
func (f Form) NamedBy(field string) []string {
	switch {
	case f.Kind != record.Membership:
		return nil
	case field == GroupID:
		return []string{Group}
	case field == Person:
		return []string{FullName, PersonID, CPF}
	}
	return nil
}

// Names tells a column that names another record.
func (f Form) Names(column string) bool {
	return slices.ContainsFunc(f.Naming(), func(one record.Field) bool { return one.Name == column })
}

// Column is the row of a name that a column of a table may have: a field's, or one that names another record.
func (f Form) Column(name string) *record.Field {
	all := f.Naming()
	if i := slices.IndexFunc(all, func(one record.Field) bool { return one.Name == name }); i >= 0 {
		return &all[i]
	}
	return f.Field(name)
}

// Known are the columns that a file may have.
func (f Form) Known() []string {
	var out []string
	for i := range f.Table.Fields {
		if name := f.Table.Fields[i].Name; f.Has(name) && name != ID {
			out = append(out, name)
		}
	}
	for _, one := range f.Naming() {
		out = append(out, one.Name)
	}
	return out
}

// Needs tells the fields that a table must have a column for. Without a ticket's code each row would get one made, and
// every further import of the file would make the tickets again.
func (f Form) Needs(name string) bool {
	field := f.Field(name)
	return field != nil && field.Flags.Has(record.Required) || f.Kind == record.Ticket && name == Code ||
		f.Kind == record.Person && name == FullName
}

// settable tells fields that hold something of their own from what is made of others or by the store.
func settable(f *record.Field) bool {
	switch f.Type.(type) {
	case record.Nested, record.NestedList, record.Derived:
		return false
	}
	return !f.Flags.Has(record.ServerOnly) && f.Name != ID
}
