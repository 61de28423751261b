package record

import (
	"doorward/kv/scopes"
	"doorward/kv/value"
)

// Event is something people come to, with or without tickets. It has no /v1 write.
var Event = table(Kind{Name: "event", Number: 14, Version: 3, Resource: "event", Class: Shared, Home: "church_id",
	scopes: []scopes.Sort{scopes.Event, scopes.Church},
	Fields: []Field{
		{"name", Text{Max: 150}, ReadOnly, `""`},
		{"description", Text{}, ReadOnly, `""`},
		{"start_datetime", DateTime{}, ReadOnly | Required | Indexed, ``},
		{"end_datetime", DateTime{}, ReadOnly | Indexed | Filled, ``},
		{"subscription_deadline", DateTime{}, ReadOnly | Filled, ``},
		{"show_on_calendar", Bool{}, ReadOnly, `false`},
		{"incomplete", Bool{}, ReadOnly, `false`},
		{"shareable", Bool{}, ReadOnly, `false`},
		{"paid_event", Bool{}, ReadOnly, `false`},
		{"has_registrations", Bool{}, ReadOnly, `false`},
		{"active", Bool{}, ReadOnly, `true`},
		{"enabled", Bool{}, ReadOnly, `true`},
		{"show_in_app", Bool{}, ReadOnly, `false`},
		{"highlighted", Bool{}, ReadOnly, `false`},
		{"public", Bool{}, ReadOnly, `true`},
		{"available", Bool{}, ReadOnly, `true`},
		{"buyer_only_answers", Bool{}, ReadOnly, `false`},
		{"public_url", Bool{}, ReadOnly, `false`},
		{"public_subscription", Bool{}, ReadOnly, `false`},
		{"recurrence_model", Bool{}, ReadOnly, `false`},
		{"send_push_notifications", Bool{}, ReadOnly, `false`},
		{"legacy_v1", Bool{}, ReadOnly, `false`},
		{"hybrid", Bool{}, ReadOnly, `false`},
		{"has_paid_tickets", Bool{}, ReadOnly, `false`},
		{"show_on_site", Bool{}, ReadOnly, `false`},
		{"push_sent", Bool{}, ReadOnly, `false`},
		{"allow_outsiders", Bool{}, ReadOnly, `false`},
		{"has_free_tickets", Bool{}, ReadOnly, `false`},
		{"has_available_tickets", Bool{}, ReadOnly, `false`},
		{"has_active_tickets", Bool{}, ReadOnly, `false`},
		{"has_external_subscription", Bool{}, ReadOnly, `false`},
		{"hide_ticket_quantity", Bool{}, ReadOnly, `false`},
		{"short_url_code", Text{}, ReadOnly, `""`},
		{"ticket_sorting", Text{}, ReadOnly, `""`},
		{"contact_email", Email{}, ReadOnly, `""`},
		{"contact_phone", Text{}, ReadOnly, `""`},
		{"contact_whatsapp", Text{}, ReadOnly, `""`},
		{"image", URL{}, ReadOnly | Null, ``},
		{"thumbnail", URL{}, ReadOnly | Null, ``},
		{"app_image", URL{}, ReadOnly | Null, ``},
		{"image_webp", URL{}, ReadOnly | Null, ``},
		{"facebook_url", URL{Max: 200}, ReadOnly | Null, ``},
		{"instagram_url", URL{Max: 200}, ReadOnly | Null, ``},
		{"twitter_url", URL{Max: 200}, ReadOnly | Null, ``},
		{"youtube_url", URL{Max: 200}, ReadOnly | Null, ``},
		{"event_url", Text{Max: 300}, ReadOnly | Null, ``},
		{"available_tickets", Text{Max: 50}, ReadOnly | Null, ``},
		{"external_subscription_url", URL{Max: 2000}, ReadOnly | Null, ``},
		{"event_fees", Double{}, ReadOnly | Null, ``},
		{"location", Object{Keys: placeKeys}, ReadOnly | Null, `{"country":null,"state":null,"city":null,"zip_code":null,` +
			`"address":null,"address_number":null,"address_complement":null,"neighborhood":null,"latitude":null,"longitude":null}`},

		{"church_id", Ref{"church"}, Null | Hidden | Indexed, ``},
		{"regional_id", Ref{"regional"}, Null | Hidden | Indexed, ``},
		{"list_rule", Choice{"once", "daily", "reentry"}, Hidden, `"once"`},
		{"notices", Object{}, Null | Hidden, ``},
		{"day_begins", TimeOfDay{}, Hidden, `"04:00"`},
		{"external_id", Text{Min: 1, Max: 255}, Null | Hidden | Indexed, ``},
		{"created_at", DateTime{}, ReadOnly | Hidden | Indexed | Frozen | Filled, ``},
		{"created_by", keyID, ReadOnly | Hidden | Frozen | Null, ``},

		{"issued_tickets", Counted{}, ReadOnly, ``},
		{"responsible_church", Nested{Kind: "church", ID: "church_id", Keys: []string{"name"}, Always: true}, ReadOnly, ``},
		{"regional", Nested{Kind: "regional", ID: "regional_id", Keys: []string{"name"}}, ReadOnly, ``},
		{"updated_at", Derived{updatedAt, DateTime{}}, ReadOnly | Hidden, ``},
		{"updated_by", Derived{updatedBy, keyID}, ReadOnly | Hidden | Null, ``},
	}}, settleEvent)

// DayBegins is when a daily event's day begins, unless the event says otherwise: its day_begins by default.
const DayBegins = value.TimeOfDay(4 * 60)

// placeKeys are the members of an event's location, in its reply's order.
var placeKeys = []string{"country", "state", "city", "zip_code", "address", "address_number", "address_complement",
	"neighborhood", "latitude", "longitude"}

// settleEvent lets an event without an end, or without a deadline, have them when it starts.
func settleEvent(d, _ *Doc, _ Moment) {
	setIfNull(d, "end_datetime", d.Value("start_datetime"))
	setIfNull(d, "subscription_deadline", d.Value("start_datetime"))
}

// The facts: written once and never changed (sync.md §3). Values of list and direction that this version does not know
// are stored and do not count as admissions.
var (
	// Checkin is an admission. Its basis is "offline" if a phone let the guest in before it reached this store. Its verdict is why this
	// store would have refused the guest.
	Checkin = table(Kind{Name: "checkin", Number: 18, Version: 4, Resource: "checkin", Class: Events, Home: "event_id",
		ULID: true, Fact: true, scopes: []scopes.Sort{scopes.Event},
		Fields: observed(Indexed,
			Field{"basis", Text{Max: 64}, Null, ``},
			Field{"verdict", Text{Max: 64}, Null, ``},
		)})

	// Scan is a refusal.
	Scan = table(Kind{Name: "scan", Number: 19, Version: 2, Resource: "checkin", Class: Events, Home: "event_id",
		ULID: true, Fact: true, scopes: []scopes.Sort{scopes.Event},
		Fields: observed(0,
			Field{"outcome", Text{Min: 1, Max: 64}, Required, ``},
			Field{"length", Integer{Max: maxCount}, 0, `0`},
		)})

	// Undo takes an admission back.
	Undo = table(Kind{Name: "undo", Number: 20, Version: 2, Resource: "checkin", Class: Events, Home: "event_id",
		ULID: true, Fact: true, scopes: []scopes.Sort{scopes.Event},
		Fields: observed(0,
			Field{"checkin_id", ULID{}, Required | Indexed, ``},
			Field{"reason", Text{Max: 255}, Null, ``},
		)})
)

// observed are the rows that every fact begins with; its nonce has the given flags besides.
func observed(lookup Flags, rows ...Field) []Field {
	return append([]Field{
		{"event_id", Ref{"event"}, Required, ``},
		{"ticket_id", Ref{"ticket"}, Null, ``},
		{"holding", ULID{}, Null, ``},
		{"code_hash", Hash{}, Null, ``},
		{"list", Text{Max: 64}, 0, `""`},
		{"direction", Text{Max: 64}, 0, `"in"`},
		{"door", Text{Max: 255}, 0, `""`},
		{"key_id", keyID, Null, ``},
		{"node", ULID{}, Null, ``},
		{"hlc", Hash{Digits: 16}, Required, ``},
		{"at", DateTime{}, Required, ``},
		{"clock_offset_ms", Integer{Min: -MaxID, Max: MaxID}, Null, ``},
		{"nonce", Hash{}, Null | lookup, ``},
		{"flags", Texts{}, Indexed, `[]`},
	}, rows...)
}
