package record

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/names"
	"doorward/kv/scopes"
	"doorward/kv/value"
)

// Ticket is what a door needs to decide: no name, and no code in clear. holding is the ULID of its present holding: its HolderName,
// Holder and HolderLabel. ended are those of earlier ones.
var Ticket = table(Kind{Name: "ticket", Number: 15, Version: 2, Resource: "event", Class: Events, Home: "event_id",
	scopes: []scopes.Sort{scopes.Event},
	Fields: origin([]Field{
		{"event_id", Ref{"event"}, Required, ``},
		{"code_hash", Hash{}, ServerOnly | Together, ``},
		{"normal_hash", Hash{}, ServerOnly | Together, ``},
		{"type", Text{Max: 255}, Null, ``},
		{"state", ticketState, Strict, `"valid"`},
		{"valid_from", DateTime{}, Null, ``},
		{"valid_until", DateTime{}, Null, ``},
		{"order", Text{Max: 255}, Null | Indexed | Together, ``},
		{"holding", ULID{}, ServerOnly | Null | Together, ``},
		{"ended", Texts{}, ServerOnly | Union, `[]`},
		{"taken_over", Bool{}, ServerOnly | Hidden, `false`},
	}...)})

// ticketState is what may be said of a ticket.
var ticketState = Choice{"valid", "cancelled", "refunded", "unpaid", "blocked"}

// TicketCode is a ticket's code in clear. It has the ticket's id.
var TicketCode = table(Kind{Name: "ticket_code", Number: 26, Version: 1, Resource: "event", Class: Events, Home: "event_id",
	System: true, scopes: []scopes.Sort{scopes.EventHolders},
	Fields: []Field{
		{"event_id", Ref{"event"}, Required, ``},
		{"code", Text{Min: 1, Max: 255}, Required, ``},
	}})

// A holding is one person's time with one ticket: HolderName, Holder and HolderLabel share its ULID. In the canonical text ticket_id is
// the last member of each. link is a new ULID whenever a person is linked to the holding in place: two that were linked at two places
// are one side's.

// HolderName is what a door's search by name needs.
var HolderName = table(Kind{Name: "holder_name", Number: 16, Version: 2, Resource: "event", Class: Events, Home: "event_id",
	System: true, ULID: true, scopes: []scopes.Sort{scopes.EventNames},
	Fields: []Field{
		{"event_id", Ref{"event"}, Required, ``},
		{"full_name", Text{Max: 255}, Null | Searched | Personal | Together, ``},
		{"phone_tail", Phone{Text{Max: 4}}, ServerOnly | Null | Searched | Personal | Together, ``},
		{"link", ULID{}, ServerOnly | Null | Together, ``},
		{"ticket_id", Ref{"ticket"}, Required, ``},
	}})

// Holder is a holding's private half. persons are all that it was ever linked with.
var Holder = table(Kind{Name: "holder", Number: 17, Version: 2, Resource: "event", Class: Events, Home: "event_id",
	System: true, ULID: true, scopes: []scopes.Sort{scopes.EventHolders},
	Fields: []Field{
		{"event_id", Ref{"event"}, Required, ``},
		{"email", Email{Max: 254}, Null | Personal | Together, ``},
		{"phone", Phone{Text{Max: 24}}, Null | Personal | Together, ``},
		{"person_id", Ref{"person"}, Null | Personal | Together, ``},
		{"persons", Refs{"person"}, ServerOnly | Indexed | Personal | Union, `[]`},
		{"link", ULID{}, ServerOnly | Null | Together, ``},
		{"ticket_id", Ref{"ticket"}, Required, ``},
	}}, keepPersons)

// keepPersons has persons say whom the holding is linked with.
func keepPersons(d, _ *Doc, _ Moment) {
	if person := d.Int("person_id"); person != 0 && !slices.Contains(d.Ints("persons"), person) {
		d.Set("persons", union(d.Value("persons"), slices.Concat([]byte{'['}, d.Value("person_id"), []byte{']'})))
	}
}

// HolderLabel is what a door without names shows of a holding. The root alone derives it.
var HolderLabel = table(Kind{Name: "holder_label", Number: 27, Version: 1, Resource: "event", Class: Events, Home: "event_id",
	System: true, ULID: true, scopes: []scopes.Sort{scopes.EventLabels},
	Fields: []Field{
		{"event_id", Ref{"event"}, Required, ``},
		{"label", Text{Max: 255}, ServerOnly | Searched | Personal, `""`},
		{"ticket_id", Ref{"ticket"}, Required, ``},
	}})

// TicketForm is a ticket as its writer sees it: Ticket, TicketCode and its present holding in one. It is not stored.
var TicketForm = table(Kind{Name: "ticket", Version: 1, Resource: "event", Class: Events, Home: "event_id",
	Fields: []Field{
		{"event_id", Ref{"event"}, Required, ``},
		{"code", Text{Min: 1, Max: 255}, 0, ``},
		{"type", Text{Max: 255}, Null, ``},
		{"state", ticketState, Strict, `"valid"`},
		{"holder_name", Text{Max: 255}, Null | Searched, ``},
		{"email", Email{Max: 254}, Null, ``},
		{"phone", Phone{Text{Max: 24}}, Null, ``},
		{"person_id", Ref{"person"}, Null, ``},
		{"order", Text{Max: 255}, Null, ``},
		{"valid_from", DateTime{}, Null, ``},
		{"valid_until", DateTime{}, Null, ``},
		{"external_id", Text{Min: 1, Max: 255}, Null, ``},
		{"label", Text{}, ServerOnly, `""`},
		{"created_at", DateTime{}, ReadOnly | Filled, ``},
		{"updated_at", Derived{updatedAt, DateTime{}}, ReadOnly, ``},
	}})

// Parts are the patches of a ticket form's records.
type Parts struct{ Ticket, Code, Name, Holder *Patch }

// SplitTicket parts a form's patch into those of its records, with the phone's tail that follows from it. The code's hashes and the
// holding are the store's to add.
func SplitTicket(p *Patch) Parts {
	parts := Parts{p.Project(Ticket), p.Project(TicketCode), p.Project(HolderName), p.Project(Holder)}
	if code, given := parts.Code.Value("code"); given && value.IsNull(code) {
		parts.Code.Drop("code") // as if none were given
	}
	if v, given := p.Value("phone"); given {
		parts.Name.Set("phone_tail", tailValue(value.Unquote(v)))
	}
	return parts
}

// NamesHolder reports whether the parts say anything of a holder.
func (p *Parts) NamesHolder() bool {
	says := func(patch *Patch) bool {
		for i, v := range patch.values {
			if patch.Kind.Fields[i].Flags.Has(Personal) && len(value.Content(v))+int(value.Int(v)) > 0 {
				return true
			}
		}
		return false
	}
	return says(p.Name) || says(p.Holder)
}

// SetTail gives a HolderName the last digits of its Holder's phone.
func SetTail(name, holder *Doc) { name.Set("phone_tail", tailValue(holder.Text("phone"))) }

// LabelOf is the stored label of a holder's stored full name.
func LabelOf(fullName jsontext.Value) jsontext.Value {
	return value.Quote(names.Label(value.Unquote(fullName)))
}

func tailValue(phone string) jsontext.Value {
	if tail := names.PhoneTail(phone); tail != "" {
		return value.Quote(tail)
	}
	return jsontext.Value("null")
}

// JoinTicket puts a ticket's records into the form, the ticket first.
func JoinTicket(parts ...Body) *Doc {
	d := TicketForm.NewDoc()
	for _, i := range TicketForm.sorted {
		stored := storedName(HolderName, TicketForm.Fields[i].Name) // no other part has a field of its name
		for _, b := range parts {
			if v := b.Member(stored); v != nil {
				d.values[i] = v.Clone()
				break
			}
		}
	}
	return d
}

// FormName is the name that a field of a ticket's part has in the form; any other field's is its own.
func FormName(k *Kind, field string) string {
	if k == HolderName && field == "full_name" {
		return "holder_name"
	}
	return field
}

// storedName is the name that a field of the form has in a ticket's part. No other field has another name.
func storedName(k *Kind, field string) string {
	if k == HolderName && field == "holder_name" {
		return "full_name"
	}
	return field
}
