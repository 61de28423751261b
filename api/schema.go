package api

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"doorward/api/barcode"
	"doorward/api/load"
	"doorward/api/overview"
	"doorward/api/phone"
	"doorward/api/query"
	"doorward/kv/admission"
	"doorward/kv/disk"
	"doorward/kv/door"
	"doorward/kv/fault"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/value"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ownSchemas are the schemas of the answers that are no records. Most are read from the structs that the answers are printed from: the
// examples are such structs.
func ownSchemas() map[string]any {
	schemas := map[string]any{
		"scans_report": object(map[string]any{"results": map[string]any{"type": "array", "maxItems": maxScans, "items": map[string]any{
			"oneOf": []any{structSchema(reflect.TypeFor[scanned]()), object(map[string]any{
				"error": errorViewSchema(),
				"at":    typeSchema(reflect.TypeFor[jsontext.Value]()), "nonce": map[string]any{"type": []string{"string", "null"}},
			}, "error", "at", "nonce")}}}}, "results"),
		"history":       historySchema(structSchema(reflect.TypeFor[pastView]())),
		"health":        counting(structSchema(reflect.TypeFor[readiness]())),
		"document":      map[string]any{"type": "object", "additionalProperties": true},
		"error":         errorSchema(),
		"import_report": counting(structSchema(reflect.TypeFor[load.Report]())),
	}
	for name, example := range ownExamples() {
		if schemas[name] == nil {
			schemas[name] = structSchema(reflect.TypeOf(example))
		}
	}
	return schemas
}

// list is the schema of an array.
func list(items map[string]any) map[string]any {
	return map[string]any{"type": "array", "items": items}
}

// importParameters are the query string of an import.
var importParameters = []parameterDoc{
	{name: "kind", schema: map[string]any{"type": "string"}, text: "The kind of the records.", required: true},
	{name: "event", schema: map[string]any{"type": "integer", "format": "int64"}, text: "The event of the tickets. It beats any column."},
	{name: "from", schema: map[string]any{"type": "string"}, text: "The system that wrote the file: pretix-positions, sympla …; none = no known one. Left out, it is found by the titles."},
	{name: "sheet", schema: map[string]any{"type": "string"}, text: "The sheet of a workbook, where several hold a list."},
	{name: "map", schema: map[string]any{"type": "string"}, text: "field=column pairs between commas. A + joins columns: full_name=First name+Last name."},
	{name: "ignore", schema: list(map[string]any{"type": "string"}), text: "A column that is not read. It may be given several times."},
	{name: "states", schema: map[string]any{"type": "string"}, text: "word=state pairs between commas: what a word of the file says of a ticket."},
	{name: "dates", schema: map[string]any{"type": "string", "enum": []string{"dmy", "mdy", "ymd"}}, text: "The order of day, month and year, where the dates of a column do not show it."},
	{name: "zone", schema: map[string]any{"type": "string"}, text: "The time zone of times that name none. Left out, it is the server's."},
	{name: "only_type", schema: list(map[string]any{"type": "string"}), text: "A type of tickets that is taken; the others are left out. It may be given several times."},
	{name: "checkins", schema: map[string]any{"type": "boolean"}, text: "Check in the tickets that the file says were used."},
	{name: "reinstate", schema: map[string]any{"type": "boolean"}, text: "Let in again, where the file says so, tickets that are blocked, refunded or cancelled here. Left out, these rows are refused."},
	{name: "yes", schema: map[string]any{"type": "boolean"}, text: "Add new people, also those that look like people in the store."},
	{name: "dry_run", schema: map[string]any{"type": "boolean"}, text: "Decide everything and write nothing."},
}

// page is the schema of a list's envelope.
func page(item map[string]any) map[string]any {
	link := map[string]any{"type": []string{"string", "null"}, "format": "uri"}
	return object(map[string]any{
		"count": map[string]any{"type": "integer", "minimum": 0}, "next": link, "previous": link,
		"results": map[string]any{"type": "array", "items": item, "maxItems": query.MaxLimit},
	}, "count", "next", "previous", "results")
}

// object is the schema of an object that has no other members.
func object(properties map[string]any, required ...string) map[string]any {
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// structSchema is the schema of a struct as package json prints it.
func structSchema(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	addFields(t, properties, &required)
	return object(properties, required...)
}

func addFields(t reflect.Type, properties map[string]any, required *[]string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous {
			addFields(f.Type, properties, required)
			continue
		}
		properties[name] = typeSchema(f.Type)
		if !strings.Contains(options, "omit") { // omitzero or omitempty
			*required = append(*required, name)
		}
	}
}

// counting adds to a schema that no integer in it is below zero.
func counting(schema map[string]any) map[string]any {
	if schema["type"] == "integer" {
		schema["minimum"] = 0
	}
	for _, part := range schema {
		if inner, ok := part.(map[string]any); ok {
			counting(inner)
		}
	}
	return schema
}

// typeSchema is the schema of a member's type. The only raw JSON that we print in structs is a date-time or null.
func typeSchema(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[outcome.Outcome]():
		return map[string]any{"type": "string", "enum": slices.Sorted(maps.Keys(messages))}
	case reflect.TypeFor[door.Match]():
		return map[string]any{"type": "string", "enum": []door.Match{door.ByName, door.ByPhone}}
	case reflect.TypeFor[jsontext.Value]():
		return map[string]any{"type": []string{"string", "null"}, "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		s := typeSchema(t.Elem())
		s["type"] = []any{s["type"], "null"}
		return s
	case reflect.Struct:
		return structSchema(t)
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": typeSchema(t.Elem())}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": typeSchema(t.Elem())}
	case reflect.Int:
		return map[string]any{"type": "integer"}
	case reflect.Int64:
		return map[string]any{"type": "integer", "format": "int64"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	}
	return map[string]any{"type": "string"}
}

// noun has the words for the records of a kind, and a sentence about them.
type noun struct {
	one, many string
	about     string // one sentence
}

// nouns are the words of the OpenAPI document: tags, summaries and operation ids are made of them.
var nouns = map[*record.Kind]noun{
	record.Church:           {"church", "churches", "The churches of the denomination."},
	record.Regional:         {"regional", "regionals", "Regionals are groups of churches."},
	record.FinancialAccount: {"financial account", "financial accounts", "The bank accounts and cash boxes that entries belong to."},
	record.Category:         {"category", "categories", "The categories of financial entries."},
	record.Subcategory:      {"subcategory", "subcategories", "The subcategories of financial entries."},
	record.CostCenter:       {"cost center", "cost centers", "The cost centers of financial entries."},
	record.BusinessUnit:     {"business unit", "business units", "The business units of financial entries."},
	record.Supplier:         {"supplier", "suppliers", "Suppliers are paid by financial entries, or pay them."},
	record.Role:             {"role", "roles", "The roles that people have."},
	record.Person:           {"person", "people", "Members, visitors and leaders."},
	record.Group:            {"group", "groups", "Segmentation groups of people."},
	record.Membership:       {"membership", "memberships", "A membership is a person's place in a group."},
	record.FinancialEntry:   {"financial entry", "financial entries", "Money received or spent."},
	record.Event:            {"event", "events", "Events, and the check-in of their tickets."},
	record.Ticket: {"ticket", "tickets", "A ticket admits its holder to an event. Changing person_id from one person to another or to null passes the ticket on: " +
		"name, e-mail and phone that the same request does not give start empty. Any other change is an edit of the present holder."},
	record.Checkin:  {"check-in", "check-ins", "Each admission, as the door wrote it down."},
	record.Scan:     {"refused scan", "refused scans", "Each refusal, as the door wrote it down."},
	record.Undo:     {"undone check-in", "undone check-ins", "Each check-in that was taken back."},
	record.APIKey:   {"API key", "API keys", "The stored records of API keys, without their secrets."},
	record.Conflict: {"conflict", "conflicts", "The stored records of values that a merge did not keep."},
	record.Refusal:  {"refusal", "refusals", "The stored records of documents that were pushed and not taken."},
	record.Node:     {"node", "nodes", "The stored records of laptops that may join, or have joined."},
	record.Erasure:  {"erasure", "erasures", "Each erased record, without anything that names the person."},
}

// nounOf returns the words for a kind. A kind without an entry in nouns gets its name; a test finds it.
func nounOf(k *record.Kind) noun {
	if n, ok := nouns[k]; ok {
		return n
	}
	return noun{one: k.Name, many: k.Name + " records"}
}

// a returns the noun with its article.
func (n noun) a() string {
	if strings.ContainsRune("aeiouAEIOU", rune(n.one[0])) {
		return "an " + n.one
	}
	return "a " + n.one
}

// identifier makes a part of an operation id of a phrase: "API keys" gives api_keys, "check-in" gives checkin.
func identifier(phrase string) string {
	return strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(phrase, "-", ""), " ", "_"))
}

// adminTag begins the tags of /admin/v1.
const adminTag = "admin: "

// tagTexts are the descriptions of the tags that belong to no kind.
var tagTexts = map[string]string{
	"door":                   "What scanners at the door ask. Every decision is a 200 with an outcome.",
	"conflicts and refusals": "What replication leaves for staff to decide.",
	"keys":                   "API keys, and what each may see and do.",
	"double entries":         "Tickets that were admitted more than once, because doors could not reach each other.",
	"reviews":                "Check-ins, refused scans and undone check-ins that a revoked laptop has brought, or that were written by a doubted clock.",
	"reads":                  "Which key was shown how many records of people.",
	"venues":                 "The laptops that are enrolled.",
	"import":                 "Files of records.",
	"health":                 "For machines that watch the server.",
	"documentation":          "This document.",
}

// tagList is the document's list of tags, in the order in which the routes use them.
func tagList(table []route) []any {
	texts := maps.Clone(tagTexts)
	for _, n := range nouns {
		texts[n.many], texts[adminTag+n.many] = n.about, n.about+" Staff see all that is stored of them."
	}
	var list []any
	seen := map[string]bool{"": true}
	for i := range table {
		tag := table[i].doc.tag
		if seen[tag] {
			continue
		}
		seen[tag] = true
		list = append(list, map[string]any{"name": tag, "description": texts[tag]})
	}
	return list
}

// exampleULID and exampleTime are in the examples of the OpenAPI document.
const exampleULID = "01J8ZK4M7Q2V9XW3T6B5N0RCYD"

var exampleTime = time.Date(2026, 11, 21, 22, 30, 0, 0, time.UTC)

// sample is a record of the invented congregation that the document's examples show. Each names the others by their ids.
type sample struct {
	id     string
	record string // members in their stored form; those that are missing have their defaults
	change string // the body of a PATCH
}

// samples has a record of each kind that an operation shows or takes.
var samples = map[*record.Kind]sample{
	record.Church:           {"3", `{"name":"Centro","regional_id":1}`, `{"name":"Centro Histórico"}`},
	record.Regional:         {"1", `{"name":"Nordeste"}`, `{"name":"Norte"}`},
	record.FinancialAccount: {"2", `{"name":"Main account","currency":"BRL"}`, `{"currency":"EUR"}`},
	record.Category:         {"4", `{"name":"Maintenance"}`, `{"name":"Repairs"}`},
	record.Subcategory:      {"9", `{"name":"Roof","category_id":4}`, `{"category_id":4}`},
	record.CostCenter:       {"6", `{"name":"Building"}`, `{"name":"Main building"}`},
	record.BusinessUnit:     {"8", `{"name":"Bookshop"}`, `{"name":"Library"}`},
	record.Supplier:         {"12", `{"name":"Telhas Ltda","document":"12.345.678/0001-95"}`, `{"document":null}`},
	record.Role:             {"5", `{"name":"Usher"}`, `{"name":"Head usher"}`},
	record.Person: {"17", `{"full_name":"Ana Souza","gender":"female","status":"approved","birthday":"1990-04-17","church_profile":"member",` +
		`"email":"ana@example.org","phone":"+55 81 98888-1234","has_whatsapp":true,"church_id":3,"role_ids":[5]}`,
		`{"phone":"+55 81 97777-4321","church_profile":"frequent"}`},
	record.Group:      {"21", `{"name":"Choir","church_id":3}`, `{"name":"Youth choir"}`},
	record.Membership: {"40", `{"person":17,"group_id":21,"is_approved":true}`, `{"is_approved":false}`},
	record.FinancialEntry: {"88", `{"transaction_type":"expense","base_amount":"1250.00","description":"New roof tiles","currency":"BRL",` +
		`"due_date":"2026-12-01","payment_method":"pix","church_id":3,"financial_account_id":2,"supplier_id":12,"category_id":4,"subcategory_id":9}`,
		`{"is_paid":true,"paid_amount":"1250.00","payment_date":"2026-11-28"}`},
	record.Event: {"7", `{"name":"Summer conference","start_datetime":"2026-11-21T22:00:00Z","end_datetime":"2026-11-22T02:00:00Z",` +
		`"location":{"country":"BR","state":"PE","city":"Recife","zip_code":null,"address":"Rua da Aurora","address_number":"100",` +
		`"address_complement":null,"neighborhood":null,"latitude":null,"longitude":null},"church_id":3,"regional_id":1}`, `{"name":"Winter conference"}`},
	record.TicketForm: {"1204", `{"event_id":7,"code":"K7QP2M9D4RSX1ABC","type":"Adult","holder_name":"Ana Souza","email":"ana@example.org",` +
		`"phone":"+55 81 98888-1234","person_id":17,"order":"A-1001","label":"Ana S."}`, `{"state":"cancelled"}`},
	record.Checkin: {exampleULID, exampleFact, ``},
	record.Scan:    {exampleULID, exampleFact[:len(exampleFact)-1] + `,"outcome":"unpaid","length":16}`, ``},
	record.Undo:    {exampleULID, exampleFact[:len(exampleFact)-1] + `,"checkin_id":"` + exampleULID + `","reason":"Wrong ticket"}`, ``},
	record.APIKey: {"2", `{"name":"Front door","key":"dw_0123456789ABCDEFGHJK","level":"event:7","permissions":["checkin:*"],` +
		`"expires_at":"2026-11-23T03:00:00Z"}`, ``},
	record.Conflict: {exampleULID, `{"kind":"person","record_id":"17","field":"phone","winner":"+55 81 98888-1234","other":"+55 81 97777-4321",` +
		`"at":"2026-11-21T22:30:00Z","node":"` + exampleULID + `"}`, ``},
	record.Refusal: {exampleULID, `{"db":"event-7","doc":{"_id":"ticket:0000000000001204","state":"valid"},"reason":"the ticket was sold elsewhere",` +
		`"key_id":2,"at":"2026-11-21T22:30:00Z"}`, ``},
	record.Node: {"1", `{"name":"North door","level":"event:7","grants":["names"],"node":"` + exampleULID + `","key_id":2,` +
		`"joined_at":"2026-11-21T18:00:00Z"}`, ``},
	record.Erasure: {exampleULID, `{"kind":"person","at":"2026-11-21T22:30:00Z","key_id":1}`, ``},

	checkinForm:  {``, `{"code":"K7QP2M9D4RSX1ABC"}`, ``},
	scanForm:     {``, `{"code":"K7QP2M9D4RSX1ABC","door":"North door","nonce":"phone-3-0017"}`, ``},
	codesForm:    {``, `{"codes":["K7QP2M9D4RSX1ABC","https://example.org/"]}`, ``},
	sessionForm:  {``, `{"ticket":"ZQ4M7Q2V9XW3T6B5N0RCYD","name":"Bia"}`, ``},
	undoForm:     {``, `{"checkin_id":"` + exampleULID + `","reason":"Wrong ticket"}`, ``},
	acceptForm:   {``, `{"accept":true}`, ``},
	closingForm:  {``, `{"door":"North door"}`, ``},
	scansForm:    {``, `{"scans":[{"code":"K7QP2M9D4RSX1ABC","at":"2026-11-21T22:30:00Z","nonce":"phone-3-0018","let_in":true}]}`, ``},
	keyForm:      {``, `{"name":"Front door","level":"event:7","permissions":["checkin:*"],"expires_at":"2026-11-23T03:00:00Z"}`, ``},
	conflictForm: {``, `{"keep":"other"}`, ``},
	refusalForm:  {``, `{"apply":true}`, ``},
}

// exampleFact is what every fact of a door holds.
const exampleFact = `{"event_id":7,"ticket_id":1204,"code_hash":"9f2c6b1de0a84735c9d81e5f0a7b3c42","door":"North door","key_id":2,` +
	`"node":"` + exampleULID + `","hlc":"0192f4c1a6d80000","at":"2026-11-21T22:30:00Z"}`

// bodyExample is an example of the operation's body: what the form takes of its sample. A form that samples does not have has an empty one;
// a test finds it.
func (o *operation) bodyExample() jsontext.Value {
	s := samples[o.form]
	if o.change {
		return jsontext.Value(cmp.Or(s.change, "{}"))
	}
	given := members(s.record)
	body := []byte{'{'}
	for i := range o.form.Fields {
		f := &o.form.Fields[i]
		if v, ok := given[f.Name]; ok && f.Settable(o.surface) {
			body = value.AppendMember(body, f.Name, v)
		}
	}
	return append(body, '}')
}

// example is the collection's sample as the surface shows it; nil without a sample.
func (c *collection) example() jsontext.Value {
	s, ok := samples[c.form]
	if !ok {
		return nil
	}
	id, _ := c.kind.ParseID(s.id)
	return c.form.Show(nil, c.surface, &record.View{
		ID: id, Body: s.body(c.form), UpdatedAt: exampleTime, UpdatedBy: 1, Now: exampleTime,
		Ref:   func(k *record.Kind, _ record.ID) (record.Body, bool) { return samples[k].body(k), true },
		Count: func() int { return 150 },
	})
}

// body is the sample as it would be stored.
func (s sample) body(k *record.Kind) record.Body {
	d := k.NewDoc()
	for name, v := range members(s.record) {
		d.Set(name, v)
	}
	d.Settle(nil, record.Moment{Now: exampleTime})
	return d.Encode()
}

// members are those of a sample's object; none where there is no sample.
func members(object string) (all map[string]jsontext.Value) {
	if object == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(object), &all); err != nil {
		panic("api: a sample is no JSON object: " + err.Error())
	}
	return all
}

// shortage is a disk that is nearly full.
var shortage = &disk.Full{What: "imports", Need: 1 << 30, Free: 512 << 20}

// ownExamples are examples of the answers that ownSchemas describes, by the same names.
func ownExamples() map[string]any {
	label, kind, order, gate := "Ana S.", "Adult", "A-1001", "North door"
	at, null := value.Time(exampleTime), jsontext.Value("null")
	admitted := door.Decision{Outcome: outcome.Admitted, CheckinID: exampleULID, AdmittedAt: exampleTime, Door: gate, Label: label, Type: kind, Order: order}
	ticket, holder, node, id, nonce, state, tail, version := int64(1204), "Ana Souza", exampleULID, int64(2), "phone-3-0018", "valid", "1234", "v1.4.0"
	backlog, offset := 3, int64(-120)
	double := doubleView{exampleULID, 7, &ticket, &label, &kind, &order, "", &gate, at, nil, outcome.AlreadyAdmitted,
		&firstView{exampleULID, value.Time(exampleTime.Add(-time.Minute)), &gate}}
	key := keyView{ID: 2, Key: "dw_0123456789ABCDEFGHJK", Name: "Front door", Level: "event:7", Permissions: []string{"checkin:*"}, ExpiresAt: null}
	made := key
	made.Secret = "shown-this-once"
	return map[string]any{
		"session": sessionView{"Bia", phone.Steward, 2, []eventView{{7, "Summer conference", at, at, true, false}}},
		"decoded": decoded{[]barcode.Code{{Text: "K7QP2M9D4RSX1ABC", Format: barcode.QR}}},
		"codes":   knownCodes{[]knownCode{{"K7QP2M9D4RSX1ABC", ticket}}},
		"ruling":  rulingOf(admitted, messages[outcome.Admitted]),
		"new_key": made,
		"key":     listedKey{key, null},
		"scans_report": map[string]any{"results": []any{scanned{rulingOf(admitted, messages[outcome.Admitted]), nil, false, at, &nonce},
			refusedScan{errorView{"VALIDATION_ERROR", "The given data was invalid.", fault.ByField{"code": {fault.Required}}}, at, nil}}},
		"status": viewStatus(7, door.Status{Issued: 150, Admitted: 96, Inside: 96, Outcomes: map[outcome.Outcome]int{outcome.Admitted: 96, outcome.Unpaid: 2},
			Types: map[string]door.TypeCount{kind: {Issued: 150, Admitted: 96}}, Doors: map[string]int{gate: 96},
			Minutes: []door.MinuteCount{{Minute: exampleTime, Admitted: 12, Refused: 1}}, GuestsToday: 96, EntriesToday: 96}, time.UTC),
		"closed_door":        closedDoor{gate, at},
		"double_entry":       double,
		"admin_double_entry": adminDoubleView{double, &holder, &node, &id},
		"review": reviewView{record.Checkin.Name, exampleULID, 7, &ticket, &label, &kind, &order, &gate, at, &offset, []string{admission.FlagClockSuspect},
			nil, nil, &node, &id, nil, nil},
		"accepted": acceptedView{exampleULID},
		"reads":    readsView{at, 2, record.Person.Name, 40},
		"venue":    overview.Laptop{ID: 1, Name: "North door", Scopes: []string{"event-7"}, LastContact: at, Backlog: &backlog, Offset: &offset, Version: &version},
		"history":  []any{pastView{record.Person.Name, "17", "2-6f1d0c2b9a8e4753b1d0e6a2c4f8975e", at, &id, &node, []string{"phone"}, false, true, true}},
		"found":    foundTickets{[]foundTicket{{ticket, &label, &kind, &order, &state, &tail, at, &node, nil, []door.Match{door.ByName}}}, true},
		"health":   map[string]any{"status": "ready", "reasons": []string{sentence(shortage.Error())}, "events": []int64{7}},
		"document": map[string]any{"openapi": "3.1.0", "info": map[string]any{"title": "Doorward"}, "paths": map[string]any{}},
		"import_report": load.Report{Created: 2, Unchanged: 1, Rejected: []load.Rejection{{Line: 4, Column: "Code", Reason: fault.Blank}},
			Reasons: []load.Reason{{Column: "Code", Reason: fault.Blank, Count: 1, Lines: []int{4}}}, Ignored: []string{"Notes"},
			Columns: []load.Column{{Field: "code", Column: "Code", Why: "title", Samples: []string{"K7QP2M9D4RSX1ABC"}}},
			States:  map[string]int{state: 3}},
	}
}
