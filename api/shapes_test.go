package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// The rows of contract.md §8 and §9.

// shows checks members of an answer, each as its JSON.
func (a answer) shows(t *testing.T, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if got := member(t, a, name); got != text {
			t.Errorf("%s = %s, want %s", name, got, text)
		}
	}
}

func TestShapesOfNestedRecords(t *testing.T) {
	w := newWorld(t)
	role := w.create(record.Role, `{"name":"Usher"}`)
	center, unit := w.create(record.CostCenter, `{"name":"CC"}`), w.create(record.BusinessUnit, `{"name":"BU"}`)
	w.do("GET", personPath(w.person), "").shows(t, map[string]string{"church": fmt.Sprintf(`{"id":%d,"name":"Centre"}`, w.church), "roles": `[]`})
	w.do("GET", personPath(w.nomad), "").shows(t, map[string]string{"church": `null`})
	w.status(w.do("PATCH", adminPath("person", w.person), fmt.Sprintf(`{"role_ids":[%d]}`, role)), 200)
	w.do("GET", personPath(w.person), "").shows(t, map[string]string{"roles": fmt.Sprintf(`[{"id":%d,"name":"Usher"}]`, role)})
	none := map[string]string{"category": `null`, "subcategory": `null`, "cost_center": `null`, "business_unit": `null`, "small_groups": `[]`, "attachments": `[]`}
	w.do("GET", entryPath(w.entry), "").shows(t, none)
	w.status(w.do("PATCH", adminPath("financial_entry", w.entry), fmt.Sprintf(`{"category_id":%d,"subcategory_id":%d,"cost_center_id":%d,`+
		`"business_unit_id":%d,"small_group_ids":[%d]}`, w.category, w.subcategory, center, unit, w.group)), 200)
	w.do("GET", entryPath(w.entry), "").shows(t, map[string]string{
		"category": fmt.Sprintf(`{"id":%d,"name":"Office"}`, w.category), "subcategory": fmt.Sprintf(`{"id":%d,"name":"Paper"}`, w.subcategory),
		"cost_center": fmt.Sprintf(`{"id":%d,"name":"CC"}`, center), "business_unit": fmt.Sprintf(`{"id":%d,"name":"BU"}`, unit),
		"financial_account": fmt.Sprintf(`{"id":%d,"name":"Bank","currency":"BRL"}`, w.account),
		"supplier":          fmt.Sprintf(`{"id":%d,"name":"Paper Ltd","document":"123"}`, w.supplier),
		"church":            fmt.Sprintf(`{"id":%d,"name":"Centre"}`, w.church), "small_groups": fmt.Sprintf(`[{"id":%d,"name":"Choir"}]`, w.group),
	})
	const nowhere = `{"country":null,"state":null,"city":null,"zip_code":null,"address":null,"address_number":null,"address_complement":null,` +
		`"neighborhood":null,"latitude":null,"longitude":null}`
	w.do("GET", eventPath(w.openEvent), "").shows(t, map[string]string{"location": nowhere, "responsible_church": `{"id":null,"name":null}`, "regional": `null`})
	w.status(w.do("PATCH", adminPath("event", w.event), fmt.Sprintf(`{"regional_id":%d,"location":{"city":"Recife"}}`, w.regional)), 200)
	a := w.do("GET", eventPath(w.event), "")
	a.shows(t, map[string]string{"regional": fmt.Sprintf(`{"id":%d,"name":"North"}`, w.regional), "responsible_church": fmt.Sprintf(`{"id":%d,"name":"Centre"}`, w.church)})
	if a.text(t, "location.city") != "Recife" {
		t.Errorf("location = %s", member(t, a, "location"))
	}
}

func TestShapesDefaultsOfAbsentFields(t *testing.T) {
	w := newWorld(t)
	w.status(w.do("POST", "/v1/people/", `{}`), 201).shows(t, map[string]string{
		"full_name": `""`, "is_active": `true`, "is_pastor": `false`, "is_leader": `false`, "accepted_jesus": `false`, "has_whatsapp": `false`,
		"has_special_needs": `false`, "baptized": `null`, "gender": `null`, "status": `null`, "email": `null`, "phone": `null`, "membership_number": `null`, "photo": `null`,
	})
	w.do("GET", entryPath(w.entry), "").shows(t, map[string]string{
		"paid_amount": `"0.00"`, "penalty": `"0.00"`, "admin_fee": `"0.00"`, "interest": `"0.00"`, "discount": `"0.00"`, "is_paid": `false`, "installment_number": `1`,
		"payment_transaction_id": `null`, "description": `null`, "currency": `null`, "due_date": `null`, "payment_method": `null`, "recurrence_config": `null`,
	})
	w.do("GET", eventPath(w.event), "").shows(t, map[string]string{
		"active": `true`, "enabled": `true`, "available": `true`, "public": `true`, "incomplete": `false`, "hybrid": `false`, "name": `""`, "description": `""`,
		"start_datetime": `"2030-05-01T12:00:00Z"`, "end_datetime": `"2030-05-01T12:00:00Z"`, "subscription_deadline": `"2030-05-01T12:00:00Z"`, "issued_tickets": `0`,
		"image": `null`, "event_fees": `null`, "contact_email": `""`,
	})
	w.ticket(w.event, "A", "")
	w.ticket(w.event, "B", `"state":"unpaid"`)
	w.ticket(w.event, "C", `"state":"cancelled"`)
	w.do("GET", eventPath(w.event), "").shows(t, map[string]string{"issued_tickets": `2`})
}

func TestShapesOfMoney(t *testing.T) {
	w := newWorld(t)
	w.status(w.do("PATCH", adminPath("financial_entry", w.entry), `{"base_amount":"100.05","penalty":"2","admin_fee":"1.5","interest":"0.45","discount":"4","paid_amount":"7"}`), 200)
	w.do("GET", entryPath(w.entry), "").shows(t, map[string]string{
		"base_amount_cents": `"10005"`, "paid_amount_cents": `700`, "penalty_cents": `200`, "admin_fee_cents": `150`, "interest_cents": `45`, "discount_cents": `400`,
		"display_amount": `"100.00"`, "amount_multiplier": `1`,
	})
	for _, kind := range []string{"expense", "despesa", "out", "saida"} {
		w.status(w.do("PATCH", entryPath(w.entry), fmt.Sprintf(`{"transaction_type":%q}`, kind)), 200).shows(t, map[string]string{"display_amount": `"-100.00"`, "amount_multiplier": `-1`})
	}
}

func TestShapesStatusOfAnEntryIsDerivedOnRead(t *testing.T) {
	zone := time.FixedZone("BRT", -3*3600)
	clock := kvtest.NewClock(time.Date(2024, 5, 2, 2, 59, 0, 0, time.UTC)) // 1 May there
	w := settle(newSiteOver(t, kvtest.OpenConfig(t, table.Config{Clock: clock.Now, Zone: zone})))
	a := w.status(w.do("PATCH", entryPath(w.entry), `{"due_date":"2024-05-01"}`), 200)
	a.shows(t, map[string]string{"status": `"pending"`})
	clock.Move(2 * time.Minute)
	later := w.do("GET", entryPath(w.entry), "")
	later.shows(t, map[string]string{"status": `"overdue"`})
	if tag := later.header.Get("ETag"); tag == a.header.Get("ETag") || revision(tag) != revision(a.header.Get("ETag")) {
		t.Errorf("ETag = %s, was %s: want the same revision with another checksum", tag, a.header.Get("ETag"))
	}
	w.status(w.do("PATCH", entryPath(w.entry), `{"is_paid":true}`), 200).shows(t, map[string]string{"status": `"paid"`})
}

func TestShapesOriginalDatesAreFrozen(t *testing.T) {
	w := newWorld(t)
	for _, date := range []string{`"2024-05-01"`, `"2024-06-01"`, `null`} {
		w.status(w.do("PATCH", entryPath(w.entry), fmt.Sprintf(`{"due_date":%s,"accrual_date":%s}`, date, date)), 200).shows(t, map[string]string{
			"due_date": date, "original_due_date": `"2024-05-01"`, "original_accrual_date": `"2024-05-01"`,
		})
	}
}

func TestShapesStampsAndAuthors(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC))
	w := settle(newSiteOver(t, kvtest.OpenConfig(t, table.Config{Clock: clock.Now})))
	w.do("GET", entryPath(w.entry), "").shows(t, map[string]string{"created_by": `null`, "updated_by": `null`})
	made := w.status(w.do("POST", "/v1/financial_entries/", w.entryOf(w.church)), 201)
	path := "/v1/financial_entries/" + made.text(t, "id") + "/"
	clock.Move(time.Minute)
	other := w.as("denomination")
	a := other.status(other.do("PATCH", path, `{"is_paid":true}`), 200)
	if member(t, a, "created_at") != member(t, made, "created_at") || member(t, a, "updated_at") <= member(t, made, "updated_at") {
		t.Errorf("created_at, updated_at = %s, %s", member(t, a, "created_at"), member(t, a, "updated_at"))
	}
	if by := a.text(t, "created_by") + " " + a.text(t, "updated_by"); by != "1 2" {
		t.Errorf("created_by, updated_by = %s, want 1 2", by)
	}
}

func TestShapesProfileChangeDate(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC))
	s := newSiteOver(t, kvtest.OpenConfig(t, table.Config{Clock: clock.Now}))
	a := s.status(s.do("POST", "/v1/people/", `{"church_profile":"visitor"}`), 201)
	path := "/v1/people/" + a.text(t, "id") + "/"
	clock.Move(24 * time.Hour)
	s.status(s.do("PATCH", path, `{"church_profile":"visitor","full_name":"Ana"}`), 200).shows(t, map[string]string{"profile_change_date": `"2024-05-01"`})
	s.status(s.do("PATCH", path, `{"church_profile":"member"}`), 200).shows(t, map[string]string{"profile_change_date": `"2024-05-02"`})
	for _, status := range []string{`"refused"`, `"pending"`, `"approved"`, `null`} {
		s.status(s.do("PATCH", path, `{"status":`+status+`}`), 200).shows(t, map[string]string{"status": status})
	}
}

func TestShapesOfMemberships(t *testing.T) {
	w := newWorld(t)
	w.status(w.do("GET", membersPath(999), ""), 404)
	w.status(w.do("POST", membersPath(999), `{"person":1}`), 404)
	a := w.status(w.do("POST", membersPath(w.group), fmt.Sprintf(`{"person":%d,"is_approved":false,"group_id":99}`, w.person)), 201)
	a.shows(t, map[string]string{"approval_date": `null`, "is_approved": `false`, "group_id": fmt.Sprint(w.group), "person": fmt.Sprint(w.person)})
	if got := strings.Join(keysOf(a.body), " "); got != "id person group_id is_approved approval_date joined_at" {
		t.Errorf("members = %s", got)
	}
	list := w.status(w.do("GET", membersPath(w.group), ""), 200)
	if want := `{"count":1,"next":null,"previous":null,"results":[` + a.body + `]}`; list.body != want {
		t.Errorf("list = %s, want %s", list.body, want)
	}
	if other := w.do("GET", membersPath(w.openGroup), ""); len(other.ids(t)) != 0 {
		t.Errorf("another group lists %v", other.ids(t))
	}
}

// keysOf are the names of a flat object's members, as they stand.
func keysOf(body string) []string {
	var names []string
	for part := range strings.SplitSeq(strings.Trim(body, "{}"), ",") {
		name, _, _ := strings.Cut(part, ":")
		names = append(names, strings.Trim(name, `"`))
	}
	return names
}

func TestShapesAReferenceWhoseRecordIsGone(t *testing.T) {
	w := newWorld(t)
	lone := w.create(record.Role, `{"name":"Gone"}`)
	w.status(w.do("PATCH", adminPath("person", w.person), fmt.Sprintf(`{"role_ids":[%d]}`, lone)), 200)
	a := w.do("DELETE", adminPath("role", lone), "")
	if a.status == 204 {
		w.do("GET", personPath(w.person), "").shows(t, map[string]string{"roles": fmt.Sprintf(`[{"id":%d,"name":null}]`, lone)})
		return
	}
	w.status(a, 409)
}
