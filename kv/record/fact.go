package record

import "doorward/kv/scopes"

// The facts: written once and never changed (sync.md §3). Values of list and direction that this version does not know
// are stored and do not count as admissions.
var (
	// Checkin is an admission. Its basis is "offline" if a door let the holder in again before it reached this store.
	Checkin = table(Kind{Name: "checkin", Number: 18, Version: 3, Resource: "checkin", Class: Events, Home: "event_id",
		ULID: true, Fact: true, scopes: []scopes.Sort{scopes.Event},
		Fields: observed(Indexed, Field{"basis", Text{Max: 64}, Null, ``})})

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
