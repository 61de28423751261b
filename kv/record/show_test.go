package record_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"doorward/kv/record"
	"doorward/kv/value"
)

// registry answers references out of a map, kind and id to name.
func registry(t *testing.T, bodies map[string]string) func(*record.Kind, record.ID) (record.Body, bool) {
	return func(k *record.Kind, id record.ID) (record.Body, bool) {
		text, ok := bodies[k.DocID(id)]
		if !ok {
			return record.Body{}, false
		}
		return settled(t, k, text).Encode(), true
	}
}

func TestEntryReply(t *testing.T) {
	d := settled(t, record.FinancialEntry, `{"transaction_type":"Expense","financial_account_id":1,"base_amount":"10.50","church_id":3,"supplier_id":4,
		"penalty":1,"admin_fee":"0.05","discount":"2","interest":"0.30","due_date":"2026-05-01","category_id":8,"small_group_ids":[2],"created_by":5,"external_id":"e1"}`)
	v := &record.View{ID: record.Int(12), Body: d.Encode(), UpdatedAt: noon.Add(1500 * time.Microsecond), UpdatedBy: 6, Now: noon,
		Ref: registry(t, map[string]string{
			"financial_account:0000000000000001": `{"name":"Cash","currency":"BRL"}`,
			"church:0000000000000003":            `{"name":"Central <&>"}`,
			"supplier:0000000000000004":          `{"name":"Light"}`,
			"group:0000000000000002":             `{"name":"Youth"}`,
		})}
	want := `{"id":12,"transaction_type":"Expense","base_amount":"10.50","description":null,"currency":null,"paid_amount":"0.00","penalty":"1.00",` +
		`"admin_fee":"0.05","due_date":"2026-05-01","accrual_date":null,"payment_date":null,"is_paid":false,"payment_method":null,` +
		`"installment_number":1,"recurrence_config":null,"payment_transaction_id":null,"interest":"0.30","discount":"2.00",` +
		`"original_due_date":"2026-05-01","original_accrual_date":null,"created_at":"2026-05-01T12:00:00Z","created_by":5,"attachments":[],` +
		`"base_amount_cents":"1050","paid_amount_cents":0,"interest_cents":30,"penalty_cents":100,"discount_cents":200,"admin_fee_cents":5,` +
		`"display_amount":"-9.85","amount_multiplier":-1,"status":"pending","updated_at":"2026-05-01T12:00:00.001500Z","updated_by":6,` +
		`"financial_account":{"id":1,"name":"Cash","currency":"BRL"},"church":{"id":3,"name":"Central <&>"},"category":{"id":8,"name":null},` +
		`"subcategory":null,"cost_center":null,"business_unit":null,"supplier":{"id":4,"name":"Light","document":null},"small_groups":[{"id":2,"name":"Youth"}]}`
	if diff := cmp.Diff(want, string(record.FinancialEntry.Show(nil, record.V1, v))); diff != "" {
		t.Errorf("the reply differs: %s", diff)
	}
}

func TestEntryStatusFollowsTheDay(t *testing.T) {
	zone := time.FixedZone("", -3*3600)
	at := time.Date(2026, 5, 2, 2, 59, 0, 0, time.UTC) // still the first of May there
	for _, row := range []struct {
		body, want string
		now        time.Time
	}{
		{`{"due_date":"2026-05-01"}`, "pending", at},
		{`{"due_date":"2026-05-01"}`, "overdue", at.Add(time.Minute)},
		{`{"due_date":"2026-04-30","is_paid":true}`, "paid", at},
		{`{}`, "pending", at},
	} {
		d := settled(t, record.FinancialEntry, row.body)
		reply := string(record.FinancialEntry.Show(nil, record.V1, &record.View{Body: d.Encode(), Now: row.now, Zone: zone}))
		if !strings.Contains(reply, `"status":"`+row.want+`"`) {
			t.Errorf("%s at %s: no status %s in %s", row.body, row.now, row.want, reply)
		}
	}
}

func TestEventReply(t *testing.T) {
	d := settled(t, record.Event, `{"name":"Retreat","start_datetime":"2026-05-01T18:00:00Z","church_id":3,"location":{"city":"Rio"}}`)
	v := view(d.Encode())
	v.Ref = registry(t, map[string]string{"church:0000000000000003": `{"name":"Central"}`})
	for surface, parts := range map[record.Surface][]string{
		record.V1: {`"issued_tickets":5,"responsible_church":{"id":3,"name":"Central"},"regional":null}`, `"location":{"city":"Rio","country":null,`},
		record.Admin: {`"church_id":3,"regional_id":null,"list_rule":"once","notices":null,"day_begins":"04:00","external_id":null,"created_at":"2026-05-01T12:00:00Z","created_by":null,` +
			`"issued_tickets":null,"responsible_church":{"id":3,"name":"Central"},"regional":null,"updated_at":"2026-05-01T12:00:00Z","updated_by":3}`},
	} {
		reply := string(record.Event.Show(nil, surface, v))
		for _, part := range parts {
			if !strings.Contains(reply, part) {
				t.Errorf("no %s in %s", part, reply)
			}
		}
	}
	churchless := settled(t, record.Event, `{"start_datetime":"2026-05-01T18:00:00Z","issued_tickets":0,"location":null}`)
	reply := string(record.Event.Show(nil, record.V1, view(churchless.Encode())))
	for _, part := range []string{`"issued_tickets":0`, `"responsible_church":{"id":null,"name":null}`, `"location":{"country":null,`} {
		if !strings.Contains(reply, part) {
			t.Errorf("no %s in %s", part, reply)
		}
	}
}

func TestSmallReplies(t *testing.T) {
	group := settled(t, record.Group, `{"name":"Youth","church_id":3}`)
	if got, want := string(record.Group.Show(nil, record.V1, view(group.Encode()))), `{"id":12,"name":"Youth"}`; got != want {
		t.Errorf("group = %s, want %s", got, want)
	}
	membership := settled(t, record.Membership, `{"person":5,"group_id":7}`)
	want := `{"id":12,"person":5,"group_id":7,"is_approved":true,"approval_date":"2026-05-01T12:00:00Z","joined_at":"2026-05-01T12:00:00Z"}`
	if got := string(record.Membership.Show(nil, record.V1, view(membership.Encode()))); got != want {
		t.Errorf("membership = %s, want %s", got, want)
	}
}

func TestPersonReplyHasTheSeedsFieldsInItsOrder(t *testing.T) {
	person := personBody(t, benchPerson)
	reply := string(record.Person.Show(nil, record.V1, view(person)))
	fields := strings.Fields(`id full_name gender status photo is_pastor is_leader leadership_date accepted_jesus decision_context decision_date
		birthday cpf rg rg_state church_profile baptized baptism_date baptism_type marital_status marriage_date email phone mobile_phone
		has_whatsapp membership_number has_special_needs special_needs_details id_document document_country document_issuer joining_reason
		previous_church education_level occupation membership_type visit_reason blood_type nationality birth_state birth_place death_date
		membership_start_date first_visit_date is_active inactive_reason inactive_reason_details inactive_date created_at
		profile_change_date updated_at church roles`)
	at := 0
	for _, name := range fields {
		i := strings.Index(reply[at:], `"`+name+`":`)
		if i < 0 {
			t.Fatalf("no %s after %s", name, reply[at:])
		}
		at += i
	}
	if got := record.Person.Schema(record.V1, record.Reply)["required"].([]string); len(got) != len(fields) {
		t.Errorf("a reply has %d fields, want %d", len(got), len(fields))
	}
	if !strings.HasSuffix(reply, `"roles":[{"id":1,"name":"A \"name\""},{"id":2,"name":"A \"name\""}]}`) || strings.Contains(reply, "church_id") {
		t.Errorf("reply = %s", reply)
	}
}

func TestSecretsAreShownNowhere(t *testing.T) {
	d := settled(t, record.APIKey, `{"name":"a","level":"denomination"}`)
	d.Set("secret_hash", value.Quote(strings.Repeat("ab", 32)))
	d, err := record.APIKey.Decode(record.Body{Shown: d.Encode().Shown, Hidden: append(d.Encode().Hidden, `,"id":5,"updated_at":1,"newer":{"a":1}`...)})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []record.Surface{record.V1, record.Admin} {
		reply := string(record.APIKey.Show(nil, s, view(d.Encode())))
		if strings.Contains(reply, "abab") || strings.Contains(reply, "secret") || strings.Contains(reply, `"id":5`) || !valid([]byte(reply)) {
			t.Errorf("reply = %s", reply)
		}
		if strings.Contains(reply, `"newer":{"a":1}`) != (s == record.Admin) {
			t.Errorf("an unknown field is shown wrongly: %s", reply)
		}
		for _, direction := range []record.Direction{record.Reply, record.Create, record.Change} {
			if _, ok := record.APIKey.Schema(s, direction)["properties"].(map[string]any)["secret_hash"]; ok {
				t.Error("a schema tells of the secret's hash")
			}
		}
	}
}

func TestSchemasRefuseWhatParseRefuses(t *testing.T) {
	schemas := loadSchemas(t)
	person := schemas[schemaKey{record.Person, record.V1, record.Change}]
	for _, body := range []map[string]any{{"full_name": ""}, {"gender": "x"}, {"cpf": strings.Repeat("1", 12)}, {"is_pastor": nil}, {"location": []any{}}} {
		if person.VisitJSON(body) == nil {
			t.Errorf("the schema takes %v", body)
		}
	}
	entry := record.FinancialEntry.Schema(record.V1, record.Create)["required"].([]string)
	slices.Sort(entry)
	if diff := cmp.Diff([]string{"base_amount", "church_id", "financial_account_id", "supplier_id", "transaction_type"}, entry); diff != "" {
		t.Errorf("required on create differs: %s", diff)
	}
	for _, k := range []*record.Kind{record.Event} {
		if p := k.Schema(record.V1, record.Change)["properties"].(map[string]any); len(p) != 0 && p["name"] != nil {
			t.Errorf("V1 may set %v of an event", p)
		}
	}
}
