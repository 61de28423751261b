package api

import (
	"cmp"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/barcode"
	"doorward/api/load"
	"doorward/api/overview"
	"doorward/api/phone"
	"doorward/kv/admission"
	"doorward/kv/disk"
	"doorward/kv/door"
	"doorward/kv/fault"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/value"
)

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
	sessionForm:  {``, `{"ticket":"ZQ4M7Q2V9XW3T6B5N0RCYD","name":"Bia"}`, ``},
	undoForm:     {``, `{"checkin_id":"` + exampleULID + `","reason":"Wrong ticket"}`, ``},
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
	var body []byte
	for i := range o.form.Fields {
		f := &o.form.Fields[i]
		if v, ok := given[f.Name]; ok && f.Settable(o.surface) {
			body = append(append(append(append(body, ','), value.Quote(f.Name)...), ':'), v...)
		}
	}
	if body == nil {
		return jsontext.Value("{}")
	}
	body[0] = '{'
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
		Count: func(string) int { return 150 },
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
		"ruling":  rulingOf(admitted, messages[outcome.Admitted]),
		"new_key": made,
		"key":     listedKey{key, null},
		"scans_report": map[string]any{"results": []any{scanned{rulingOf(admitted, messages[outcome.Admitted]), nil, false, at, &nonce},
			refusedScan{errorView{"VALIDATION_ERROR", "The given data was invalid.", fault.ByField{"code": {fault.Required}}}, at, nil}}},
		"status": viewStatus(7, door.Status{Issued: 150, Admitted: 96, Inside: 96, Outcomes: map[outcome.Outcome]int{outcome.Admitted: 96, outcome.Unpaid: 2},
			Types: map[string]door.TypeCount{kind: {Issued: 150, Admitted: 96}}, Doors: map[string]int{gate: 96},
			Minutes: []door.MinuteCount{{Minute: exampleTime, Admitted: 12, Refused: 1}}}),
		"double_entry":       double,
		"admin_double_entry": adminDoubleView{double, &holder, &node, &id},
		"review": reviewView{record.Checkin.Name, exampleULID, 7, &ticket, &label, &kind, &order, &gate, at, &offset, []string{admission.FlagClockSuspect},
			nil, nil, &node, &id},
		"reads":    readsView{at, 2, record.Person.Name, 40},
		"venue":    overview.Laptop{ID: 1, Name: "North door", Scopes: []string{"event-7"}, LastContact: at, Backlog: &backlog, Offset: &offset, Version: &version},
		"history":  []any{pastView{record.Person.Name, "17", "2-6f1d0c2b9a8e4753b1d0e6a2c4f8975e", at, &id, &node, []string{"phone"}, false, true, true}},
		"found":    foundTickets{[]foundTicket{{ticket, &label, &kind, &order, &state, &tail, at, &node, nil}}},
		"health":   map[string]any{"status": "ready", "reasons": []string{sentence(shortage.Error())}, "events": []int64{7}},
		"document": map[string]any{"openapi": "3.1.0", "info": map[string]any{"title": "Doorward"}, "paths": map[string]any{}},
		"import_report": load.Report{Created: 2, Unchanged: 1, Rejected: []load.Rejection{{Line: 4, Column: "Code", Reason: fault.Blank}},
			Reasons: []load.Reason{{Column: "Code", Reason: fault.Blank, Count: 1, Lines: []int{4}}}, Ignored: []string{"Notes"},
			Columns: []load.Column{{Field: "code", Column: "Code", Why: "title", Samples: []string{"K7QP2M9D4RSX1ABC"}}},
			States:  map[string]int{state: 3}},
	}
}
