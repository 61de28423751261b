package record_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"doorward/kv/record"
	"doorward/kv/value"
)

// expect compares stored members.
func expect(t *testing.T, d *record.Doc, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for name := range want {
		got[name] = string(d.Value(name))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s differs: %s", d.Kind.Name, diff)
	}
}

func TestPersonDatesTheChangeOfItsProfile(t *testing.T) {
	d := settled(t, record.Person, `{"full_name":"Ana"}`)
	expect(t, d, map[string]string{"created_at": `"2026-05-01T12:00:00Z"`, "profile_change_date": `"2026-05-01"`, "is_active": "true",
		"baptized": "null", "status": "null", "is_leader": "false"})
	d = changed(t, d, `{"full_name":"Ana Souza"}`)
	expect(t, d, map[string]string{"profile_change_date": `"2026-05-01"`, "created_at": `"2026-05-01T12:00:00Z"`})
	d = changed(t, d, `{"church_profile":"member"}`)
	expect(t, d, map[string]string{"profile_change_date": `"2026-05-02"`})
	d = changed(t, d, `{"church_profile":"visitor","profile_change_date":"2020-01-01"}`)
	expect(t, d, map[string]string{"profile_change_date": `"2020-01-01"`})

	late := record.Person.NewDoc()
	late.Settle(nil, record.Moment{Now: time.Date(2026, 5, 2, 1, 0, 0, 0, time.UTC), Zone: time.FixedZone("", -3*3600)})
	expect(t, late, map[string]string{"profile_change_date": `"2026-05-01"`})
	imported := settled(t, record.Person, `{"created_at":"2019-03-04T10:00:00Z"}`)
	expect(t, imported, map[string]string{"created_at": `"2019-03-04T10:00:00Z"`, "profile_change_date": `"2019-03-04"`})
}

func TestEntryFreezesItsFirstDates(t *testing.T) {
	d := settled(t, record.FinancialEntry, `{"transaction_type":"income"}`)
	expect(t, d, map[string]string{"original_due_date": "null", "interest": `"0.00"`, "installment_number": "1",
		"payment_transaction_id": "null", "attachments": "[]", "is_paid": "false", "base_amount": `"0.00"`, "description": "null"})
	d = changed(t, d, `{"due_date":"2026-06-01"}`)
	d = changed(t, d, `{"due_date":"2026-07-01","accrual_date":"2026-07-02"}`)
	d = changed(t, d, `{"due_date":null,"original_due_date":"2020-01-01"}`)
	expect(t, d, map[string]string{"due_date": "null", "original_due_date": `"2026-06-01"`, "original_accrual_date": `"2026-07-02"`})
}

func TestEventEndsWhenItStartsUnlessToldOtherwise(t *testing.T) {
	const start = `"2026-05-01T18:00:00Z"`
	d := settled(t, record.Event, `{"start_datetime":`+start+`,"subscription_deadline":"2026-04-01T00:00:00Z"}`)
	expect(t, d, map[string]string{"end_datetime": start, "subscription_deadline": `"2026-04-01T00:00:00Z"`, "active": "true",
		"enabled": "true", "available": "true", "public": "true", "hybrid": "false", "name": `""`, "image": "null",
		"issued_tickets": "null", "list_rule": `"once"`, "day_begins": `"04:00"`})
	d = changed(t, d, `{"start_datetime":"2026-05-02T18:00:00Z"}`)
	expect(t, d, map[string]string{"end_datetime": start})
	d = changed(t, d, `{"end_datetime":null}`)
	expect(t, d, map[string]string{"end_datetime": `"2026-05-02T18:00:00Z"`})
}

func TestMembershipDatesItsApproval(t *testing.T) {
	d := settled(t, record.Membership, `{"person":1,"group_id":2,"is_approved":false,"approval_date":"2020-01-01T00:00:00Z"}`)
	expect(t, d, map[string]string{"approval_date": "null", "joined_at": `"2026-05-01T12:00:00Z"`})
	d = changed(t, d, `{"is_approved":true}`)
	expect(t, d, map[string]string{"approval_date": `"2026-05-02T12:00:00Z"`, "joined_at": `"2026-05-01T12:00:00Z"`})
	d = changed(t, d, `{"is_approved":"no"}`)
	expect(t, d, map[string]string{"approval_date": "null"})
	d = settled(t, record.Membership, `{"person":1,"group_id":2}`)
	expect(t, d, map[string]string{"is_approved": "true", "approval_date": `"2026-05-01T12:00:00Z"`})
	expect(t, changed(t, d, `{"approval_date":null}`), map[string]string{"approval_date": `"2026-05-01T12:00:00Z"`})
	expect(t, settled(t, record.Membership, `{"person":1,"group_id":2,"approval_date":"2020-01-01T00:00:00Z"}`),
		map[string]string{"approval_date": `"2020-01-01T00:00:00Z"`})
}

func TestApplyNamesWhatChanged(t *testing.T) {
	d := settled(t, record.Person, `{"full_name":"Ana","location":{"a":1,"b":{"x":1,"y":2}},"email":"a@e.org"}`)
	changed := d.Apply(parsed(t, record.Person, record.V1, `{"phone":"1","full_name":"Bia","email":" a@e.org ","location":{"b":{"y":2,"x":1},"a":1},"gender":null}`))
	if diff := cmp.Diff([]string{"full_name", "phone"}, changed); diff != "" {
		t.Errorf("changed differs: %s", diff)
	}
	if got := d.Apply(parsed(t, record.Person, record.Admin, `{"created_at":"2001-01-01T00:00:00Z"}`)); len(got) > 0 {
		t.Errorf("a frozen field changed: %v", got)
	}
}

func TestDocReadsItsValues(t *testing.T) {
	d := settled(t, record.Person, `{"full_name":"A\"b","membership_number":-7,"is_leader":true,"role_ids":[3,1]}`)
	if d.Text("full_name") != `A"b` || d.Int("membership_number") != -7 || !d.Bool("is_leader") || !cmp.Equal(d.Ints("role_ids"), []int64{3, 1}) {
		t.Errorf("read %q %d %t %v", d.Text("full_name"), d.Int("membership_number"), d.Bool("is_leader"), d.Ints("role_ids"))
	}
	if d.Text("email") != "" || d.Int("email") != 0 || d.Bool("email") || d.Ints("email") != nil || !d.IsNull("no_such") || !d.Time("created_at").Equal(noon) {
		t.Error("an absent value is not read as nothing")
	}
	c := d.Clone()
	c.Set("full_name", value.Quote("other"))
	if d.Text("full_name") != `A"b` {
		t.Error("a clone shares its values")
	}
	if _, err := record.Person.Decode(record.Body{Shown: []byte(`{"a":1}`)}); err == nil {
		t.Error("Decode took an object for a run of members")
	}
}

func TestTicketFormPartsAndJoins(t *testing.T) {
	p := parsed(t, record.TicketForm, record.Admin, `{"event_id":7,"code":"K7QP-2M","type":"Adult","holder_name":"Ana da Souza",
		"email":"a@e.org","phone":"+55 11 98765-4321","person_id":4,"order":"Souza","valid_from":"2026-05-01T09:00:00Z","external_id":"x1"}`)
	parts := record.SplitTicket(p)
	ticket, code, name, holder := parts.Ticket, parts.Code, parts.Name, parts.Holder
	docs := map[*record.Patch]*record.Doc{}
	for _, part := range []*record.Patch{ticket, code, name, holder} {
		docs[part] = part.Kind.NewDoc()
		docs[part].Apply(part)
		docs[part].Settle(nil, record.Moment{Now: noon})
	}
	expect(t, docs[ticket], map[string]string{"event_id": "7", "type": `"Adult"`, "state": `"valid"`, "order": `"Souza"`, "holding": "null", "ended": "[]",
		"valid_from": `"2026-05-01T09:00:00Z"`, "valid_until": "null", "external_id": `"x1"`, "code_hash": "null"})
	expect(t, docs[name], map[string]string{"event_id": "7", "full_name": `"Ana da Souza"`, "phone_tail": `"4321"`})
	expect(t, docs[code], map[string]string{"event_id": "7", "code": `"K7QP-2M"`})
	expect(t, docs[holder], map[string]string{"event_id": "7", "email": `"a@e.org"`, "phone": `"+55 11 98765-4321"`, "person_id": "4", "persons": "[4]"})

	form := record.JoinTicket(docs[ticket].Encode(), docs[code].Encode(), docs[name].Encode(), docs[holder].Encode())
	form.Set("label", record.LabelOf(docs[name].Value("full_name")))
	got := string(record.TicketForm.Show(nil, record.Admin, &record.View{ID: record.Int(9), Body: form.Encode(), UpdatedAt: noon}))
	want := `{"id":9,"event_id":7,"code":"K7QP-2M","type":"Adult","state":"valid","holder_name":"Ana da Souza","email":"a@e.org",` +
		`"phone":"+55 11 98765-4321","person_id":4,"order":"Souza","valid_from":"2026-05-01T09:00:00Z","valid_until":null,` +
		`"external_id":"x1","label":"Ana S.","created_at":"2026-05-01T12:00:00Z","updated_at":"2026-05-01T12:00:00Z"}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the form's reply differs: %s", diff)
	}
	parts = record.SplitTicket(parsed(t, record.TicketForm, record.Admin, `{"phone":"12","code":null}`))
	name = parts.Name
	if _, given := parts.Code.Value("code"); given {
		t.Error("a null code is given on")
	}
	if v, given := name.Value("phone_tail"); !given || string(v) != "null" {
		t.Errorf("phone_tail = %s, %t, want null", v, given)
	}
}

func TestPatchPointsAtWhatItNames(t *testing.T) {
	p := parsed(t, record.Person, record.Admin, `{"church_id":3,"role_ids":[5,6],"created_by":9}`)
	want := []record.Pointer{{Field: "church_id", Kind: record.Church, ID: record.Int(3)},
		{Field: "role_ids", Kind: record.Role, ID: record.Int(5)}, {Field: "role_ids", Kind: record.Role, ID: record.Int(6)}}
	same := cmp.Comparer(func(a, b record.Pointer) bool { return a == b })
	if diff := cmp.Diff(want, p.Pointers(), same); diff != "" {
		t.Errorf("Pointers differ: %s", diff)
	}
	p.Drop("role_ids")
	p.Set("church_id", value.Number(4))
	d := record.Person.NewDoc()
	d.Apply(p)
	if diff := cmp.Diff([]record.Pointer{{Field: "church_id", Kind: record.Church, ID: record.Int(4)}}, d.Pointers(), same); diff != "" {
		t.Errorf("Pointers of the document differ: %s", diff)
	}
}
