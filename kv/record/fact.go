package record

import "github.com/go-json-experiment/json/jsontext"

// The facts: written once and never changed (sync.md §3). Values of list and direction that this version does not know
// are stored and do not count as admissions.
var (
	// Checkin is an admission.
	Checkin = table(Kind{Name: "checkin", Number: 18, Version: 1, Resource: "checkin", Class: Events, Home: "event_id",
		ULID: true, Fact: true, scopes: []ScopeSort{ScopeEvent},
		Fields: observed(Indexed)})

	// Scan is a refusal.
	Scan = table(Kind{Name: "scan", Number: 19, Version: 1, Resource: "checkin", Class: Events, Home: "event_id",
		ULID: true, Fact: true, scopes: []ScopeSort{ScopeEvent},
		Fields: observed(0,
			Field{"outcome", Text{Min: 1, Max: 64}, Required, ``},
			Field{"length", Integer{Max: maxCount}, 0, `0`},
		)})

	// Undo takes an admission back.
	Undo = table(Kind{Name: "undo", Number: 20, Version: 1, Resource: "checkin", Class: Events, Home: "event_id",
		ULID: true, Fact: true, scopes: []ScopeSort{ScopeEvent},
		Fields: observed(0,
			Field{"checkin_id", ULID{}, Required | Indexed, ``},
			Field{"reason", Text{Max: 255}, Null, ``},
		)})
)

// observed are the rows that every fact begins with; its ticket and nonce have the given flags besides.
func observed(lookup Flags, rows ...Field) []Field {
	return append([]Field{
		{"event_id", Ref{"event"}, Required | Indexed, ``},
		{"ticket_id", Ref{"ticket"}, Null | lookup, ``},
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
		{"flags", Texts{}, 0, `[]`},
	}, rows...)
}

// maxFields bounds the fields of a fact, so that one is built without a list on the heap.
const maxFields = 24

// NewFact builds a fact's body and its canonical text in one go, without a Doc. The members stand in table order and in their
// stored form; those left out get their defaults. A name that is unknown or out of order is a bug and panics.
func (k *Kind) NewFact(members ...Member) (b Body, canonical []byte) {
	size := 0
	for i := range k.Fields {
		size += len(k.labels[i]) + 32
	}
	for _, m := range members {
		size += len(m.Value)
	}
	var bounds [maxFields][2]int
	run := make([]byte, 0, size)
	for i := range k.Fields {
		if i > 0 {
			run = append(run, ',')
		}
		start := len(run)
		run = append(run, k.labels[i]...)
		if len(members) > 0 && members[0].Name == k.Fields[i].Name {
			run = append(run, members[0].Value...)
			members = members[1:]
		} else {
			run = append(run, k.Fields[i].initial()...)
		}
		bounds[i] = [2]int{start, len(run)}
	}
	if len(members) > 0 {
		panic("record: " + k.Name + " has no field " + members[0].Name + " there")
	}
	canonical = append(make([]byte, 0, len(run)+2), '{')
	for n, i := range k.sorted {
		if n > 0 {
			canonical = append(canonical, ',')
		}
		canonical = append(canonical, run[bounds[i][0]:bounds[i][1]]...)
	}
	return Body{Shown: run}, append(canonical, '}')
}

// TextList is a list of texts in their stored form.
func TextList(texts ...string) jsontext.Value {
	v := jsontext.Value{'['}
	for i, t := range texts {
		if i > 0 {
			v = append(v, ',')
		}
		v, _ = jsontext.AppendQuote(v, t)
	}
	return append(v, ']')
}
