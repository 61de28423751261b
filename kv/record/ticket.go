package record

import (
	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/names"
	"doorward/kv/scopes"
	"doorward/kv/value"
)

// Ticket is what a door needs to decide: no name, and no code in clear.
var Ticket = table(Kind{Name: "ticket", Number: 15, Version: 1, Resource: "event", Class: Events, Home: "event_id",
	scopes: []scopes.Sort{scopes.Event},
	Fields: []Field{
		{"event_id", Ref{"event"}, Required, ``},
		{"code_hash", Hash{}, ServerOnly, ``},
		{"normal_hash", Hash{}, ServerOnly, ``},
		{"type", Text{Max: 255}, Null, ``},
		{"state", ticketState, Strict, `"valid"`},
		{"valid_from", DateTime{}, Null, ``},
		{"valid_until", DateTime{}, Null, ``},
		{"label", Text{Max: 255}, ServerOnly | Searched | Personal, `""`},
		{"order", Text{Max: 255}, Null | Indexed, ``},
		{"external_id", Text{Min: 1, Max: 255}, Null | Hidden | Indexed, ``},
		{"created_at", DateTime{}, ReadOnly | Hidden | Frozen | Filled, ``},
		{"created_by", keyID, ReadOnly | Hidden | Frozen | Null, ``},
		{"updated_at", Derived{updatedAt, DateTime{}}, ReadOnly | Hidden, ``},
		{"updated_by", Derived{updatedBy, keyID}, ReadOnly | Hidden | Null, ``},
	}})

// ticketState is what may be said of a ticket.
var ticketState = Choice{"valid", "cancelled", "refunded", "unpaid", "blocked"}

// HolderName is what a door's search by name needs. It has its ticket's id.
var HolderName = table(Kind{Name: "holder_name", Number: 16, Version: 1, Resource: "event", Class: Events, Home: "event_id",
	System: true, scopes: []scopes.Sort{scopes.EventNames},
	Fields: []Field{
		{"event_id", Ref{"event"}, Required, ``},
		{"full_name", Text{Max: 255}, Null | Searched | Personal, ``},
		{"phone_tail", Phone{Max: 4}, Null | Searched | Personal, ``},
		{"created_at", DateTime{}, ReadOnly | Hidden | Frozen | Filled, ``},
		{"created_by", keyID, ReadOnly | Hidden | Frozen | Null, ``},
	}})

// Holder is a ticket's private half. It has its ticket's id.
var Holder = table(Kind{Name: "holder", Number: 17, Version: 1, Resource: "event", Class: Events, Home: "event_id",
	System: true, scopes: []scopes.Sort{scopes.EventHolders},
	Fields: []Field{
		{"event_id", Ref{"event"}, Required, ``},
		{"code", Text{Min: 1, Max: 255}, Required, ``},
		{"email", Email{Max: 254}, Null | Personal, ``},
		{"phone", Phone{Max: 24}, Null | Personal, ``},
		{"person_id", Ref{"person"}, Null | Indexed | Personal, ``},
		{"created_at", DateTime{}, ReadOnly | Hidden | Frozen | Filled, ``},
		{"created_by", keyID, ReadOnly | Hidden | Frozen | Null, ``},
	}})

// TicketForm is a ticket as its writer sees it: Ticket, HolderName and Holder in one. It is not stored.
var TicketForm = table(Kind{Name: "ticket", Version: 1, Resource: "event", Class: Events, Home: "event_id",
	Fields: []Field{
		{"event_id", Ref{"event"}, Required, ``},
		{"code", Text{Min: 1, Max: 255}, 0, ``},
		{"type", Text{Max: 255}, Null, ``},
		{"state", ticketState, Strict, `"valid"`},
		{"holder_name", Text{Max: 255}, Null | Searched, ``},
		{"email", Email{Max: 254}, Null, ``},
		{"phone", Phone{Max: 24}, Null, ``},
		{"person_id", Ref{"person"}, Null, ``},
		{"order", Text{Max: 255}, Null, ``},
		{"valid_from", DateTime{}, Null, ``},
		{"valid_until", DateTime{}, Null, ``},
		{"external_id", Text{Min: 1, Max: 255}, Null, ``},
		{"label", Text{}, ServerOnly, `""`},
		{"created_at", DateTime{}, ReadOnly | Filled, ``},
		{"updated_at", Derived{updatedAt, DateTime{}}, ReadOnly, ``},
	}})

// formNames are the names that a form's fields have in the records.
var formNames = map[string]string{"holder_name": "full_name"}

// SplitTicket parts a form's patch into those of its three records, with the label and the phone's tail that follow from
// it. The code's hashes are the store's to add.
func SplitTicket(p *Patch) (ticket, name, holder *Patch) {
	ticket, name, holder = p.Project(Ticket, nil), p.Project(HolderName, formNames), p.Project(Holder, nil)
	if code, given := holder.Value("code"); given && value.IsNull(code) {
		holder.Drop("code") // as if none were given
	}
	if _, given := p.Value("holder_name"); given {
		ticket.Set("label", labelValue(p.Text("holder_name")))
	}
	if v, given := p.Value("phone"); given {
		name.Set("phone_tail", tailValue(value.Unquote(v)))
	}
	return ticket, name, holder
}

// FollowPart gives one of a ticket's three records what follows from another: a Ticket the label of its HolderName, a HolderName the
// tail of its Holder's phone.
func (d *Doc) FollowPart(of *Doc) {
	switch {
	case d.Kind == Ticket && of.Kind == HolderName:
		d.Set("label", labelValue(of.Text("full_name")))
	case d.Kind == HolderName && of.Kind == Holder:
		d.Set("phone_tail", tailValue(of.Text("phone")))
	}
}

func labelValue(name string) jsontext.Value { return value.Quote(names.Label(name)) }

func tailValue(phone string) jsontext.Value {
	if tail := names.PhoneTail(phone); tail != "" {
		return value.Quote(tail)
	}
	return jsontext.Value("null")
}

// JoinTicket puts a ticket's three records into the form; one that the store lacks may be an empty Body.
func JoinTicket(ticket, name, holder Body) *Doc {
	d := TicketForm.NewDoc()
	for _, i := range TicketForm.sorted {
		field := TicketForm.Fields[i].Name
		stored := field
		if to, ok := formNames[field]; ok {
			stored = to
		}
		for _, b := range [...]Body{ticket, name, holder} {
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
	for name, stored := range formNames {
		if k == HolderName && stored == field {
			return name
		}
	}
	return field
}
