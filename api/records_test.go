package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// The fields of the public text's parts 2.2 to 2.6, each row of its part 8 at its bound and one beyond, and the coercions of
// contract.md §4.

// trial is one value given to one field.
type trial struct {
	field, value string // value is JSON
	want         string // what is shown, as JSON; or, after "!", the fault
}

// try gives each value to a record by PATCH, one at a time.
func (w *world) try(t *testing.T, path string, trials []trial) {
	for _, c := range trials {
		t.Run(fmt.Sprintf("%s=%.40s", c.field, c.value), func(t *testing.T) {
			s := w.with(t)
			a := s.do("PATCH", path, fmt.Sprintf(`{%q:%s}`, c.field, c.value), invalid)
			if fault, bad := strings.CutPrefix(c.want, "!"); bad {
				if got := s.status(a, 400).text(t, "error.details."+c.field+".0"); got != fault {
					t.Errorf("fault = %q, want %q", got, fault)
				}
				return
			}
			s.status(a, 200)
			if got := member(t, a, c.field); c.want != "" && got != c.want {
				t.Errorf("shown = %s, want %s", got, c.want)
			}
		})
	}
}

// member is a top-level member of the body as it stands there.
func member(t *testing.T, a answer, name string) string {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(a.body), &all); err != nil {
		t.Fatal(err)
	}
	return string(all[name])
}

// bounded are a text's bound and one beyond, in characters that take two bytes each.
func bounded(field string, limit int) []trial {
	most := `"` + strings.Repeat("é", limit) + `"`
	return []trial{
		{field, most, most},
		{field, `"` + strings.Repeat("é", limit+1) + `"`, fmt.Sprintf("!Ensure this field has no more than %d characters.", limit)},
	}
}

// The sentences that come back often.
const (
	mayNotBeNull  = "!This field may not be null."
	mayNotBeBlank = "!This field may not be blank."
	notString     = "!Not a valid string."
	notInteger    = "!A valid integer is required."
	notBool       = "!Must be a valid boolean."
	notDate       = "!Date has wrong format. Use one of these formats instead: YYYY-MM-DD."
	notEmail      = "!Enter a valid email address."
	notURL        = "!Enter a valid URL."
)

func TestFieldsOfPerson(t *testing.T) {
	w := newWorld(t)
	var trials []trial
	for field, limit := range map[string]int{"full_name": 255, "cpf": 11, "rg": 14, "phone": 24, "document_issuer": 255, "occupation": 100, "nationality": 100} {
		trials = append(trials, bounded(field, limit)...)
	}
	for _, field := range []string{"decision_context", "rg_state", "marital_status", "mobile_phone", "special_needs_details", "id_document",
		"document_country", "joining_reason", "previous_church", "education_level", "membership_type", "visit_reason", "birth_state",
		"birth_place", "inactive_reason_details"} {
		trials = append(trials, trial{field, `"x"`, `"x"`}, trial{field, `""`, mayNotBeBlank}, trial{field, `"  "`, mayNotBeBlank}, trial{field, `null`, `null`})
	}
	for field, choices := range map[string]string{"gender": "male,female", "status": "pending,approved,refused", "church_profile": "visitor,frequent,member",
		"baptism_type": "immersion,aspersion", "blood_type": "o-,o+,a-,a+,b-,b+,ab-,ab+", "inactive_reason": "transference,death,withdrawal,exclusion,no_contact,other"} {
		for choice := range strings.SplitSeq(choices, ",") {
			trials = append(trials, trial{field, `"` + choice + `"`, `"` + choice + `"`})
		}
		trials = append(trials, trial{field, `"X"`, `!"X" is not a valid choice.`}, trial{field, `""`, `!"" is not a valid choice.`}, trial{field, `null`, `null`})
	}
	for _, field := range []string{"cpf", "rg", "email", "phone", "document_issuer", "occupation", "nationality"} {
		trials = append(trials, trial{field, `""`, `""`}, trial{field, `null`, `null`})
	}
	for _, field := range []string{"is_pastor", "is_leader", "accepted_jesus", "has_whatsapp", "has_special_needs", "is_active"} {
		trials = append(trials, trial{field, `"yes"`, `true`}, trial{field, `0`, `false`}, trial{field, `2`, notBool}, trial{field, `null`, mayNotBeNull})
	}
	for _, field := range []string{"leadership_date", "decision_date", "birthday", "baptism_date", "marriage_date", "death_date",
		"membership_start_date", "first_visit_date", "inactive_date"} {
		trials = append(trials, trial{field, `"2024-02-29"`, `"2024-02-29"`}, trial{field, `"2023-02-29"`, notDate}, trial{field, `null`, `null`})
	}
	email := strings.Repeat("a", 242) + "@example.com"
	w.try(t, personPath(w.person), append(trials,
		trial{"full_name", `""`, mayNotBeBlank}, trial{"full_name", `null`, mayNotBeNull}, trial{"full_name", `" Ana "`, `"Ana"`},
		trial{"baptized", `true`, `true`}, trial{"baptized", `null`, `null`}, trial{"baptized", `"x"`, notBool},
		trial{"email", `"` + email + `"`, `"` + email + `"`}, trial{"email", `"a` + email + `"`, "!Ensure this field has no more than 254 characters."},
		trial{"email", `"Ana.Souza@Example.COM"`, `"Ana.Souza@Example.COM"`}, trial{"email", `"ana"`, notEmail}, trial{"email", `"a b@x.example"`, notEmail},
		trial{"membership_number", `2147483647`, `2147483647`}, trial{"membership_number", `2147483648`, "!Ensure this value is less than or equal to 2147483647."},
		trial{"membership_number", `null`, `null`}, trial{"photo", `"https://x.example/p.png"`, `"https://x.example/p.png"`},
		trial{"photo", `"http://x.example/p.png"`, notURL}, trial{"photo", `""`, mayNotBeBlank}, trial{"photo", `null`, `null`},
		trial{"church_id", fmt.Sprint(w.sister), ""}, trial{"church_id", `null`, ""}, trial{"church_id", `99`, `!Invalid pk "99" - object does not exist.`},
		trial{"church_id", `"x"`, `!Incorrect type. Expected pk value, received str.`}, trial{"church_id", `1.5`, `!Incorrect type. Expected pk value, received float.`},
		trial{"location_type", `"national"`, ""}, trial{"location_type", `"x"`, `!"x" is not a valid choice.`}, trial{"location_type", `null`, ""},
		trial{"location", `{"street_address":"x","more":{"a":[1]}}`, ""}, trial{"location", `null`, ""},
		trial{"location", `[]`, `!Expected a dictionary of items but got type "list".`}, trial{"location", `"x"`, `!Expected a dictionary of items but got type "str".`},
	))
}

func TestFieldsOfFinancialEntry(t *testing.T) {
	w := newWorld(t)
	var trials []trial
	for _, field := range []string{"base_amount", "paid_amount", "penalty", "admin_fee"} {
		const whole, places = "!Ensure that there are no more than 8 digits before the decimal point.", "!Ensure that there are no more than 2 decimal places."
		trials = append(trials,
			trial{field, `"99999999.99"`, `"99999999.99"`}, trial{field, `"100000000"`, whole}, trial{field, `-99999999.99`, `"-99999999.99"`},
			trial{field, `"-100000000.00"`, whole}, trial{field, `"0.001"`, places}, trial{field, `1.230`, places}, trial{field, `".5"`, `"0.50"`},
			trial{field, `"5."`, `"5.00"`}, trial{field, `"1e2"`, `"100.00"`}, trial{field, `1e2`, `"100.00"`}, trial{field, `"-0"`, `"0.00"`},
			trial{field, `"00012.50"`, `"12.50"`}, trial{field, `"x"`, "!A valid number is required."}, trial{field, `true`, "!A valid number is required."},
			trial{field, `"NaN"`, "!A valid number is required."}, trial{field, `null`, mayNotBeNull},
			trial{field, `"1e999999999"`, "!A valid number is required."}, trial{field, `"` + strings.Repeat("1", 1001) + `"`, "!String value too large."},
		)
	}
	for _, field := range []string{"due_date", "accrual_date", "payment_date"} {
		trials = append(trials, trial{field, `"2024-02-29"`, `"2024-02-29"`}, trial{field, `"2024-2-9"`, notDate}, trial{field, `"0000-01-01"`, notDate}, trial{field, `null`, `null`})
	}
	for _, choice := range strings.Split("billet,pix,credit_card,debit_card,money,transference,bank_check,direct_debit,other", ",") {
		trials = append(trials, trial{"payment_method", `"` + choice + `"`, `"` + choice + `"`})
	}
	trials = slices.Concat(trials, bounded("description", 300), bounded("currency", 3), []trial{
		{"description", `""`, `""`}, {"description", `null`, `null`}, {"currency", `""`, `""`}, {"currency", `null`, `null`},
		{"transaction_type", `"x"`, `"x"`}, {"transaction_type", `""`, mayNotBeBlank}, {"transaction_type", `null`, mayNotBeNull},
		{"payment_method", `"cash"`, `!"cash" is not a valid choice.`}, {"payment_method", `null`, `null`},
		{"is_paid", `"on"`, `true`}, {"is_paid", `null`, mayNotBeNull},
		{"installment_number", `2147483647`, `2147483647`}, {"installment_number", `-2147483648`, `-2147483648`},
		{"installment_number", `2147483648`, "!Ensure this value is less than or equal to 2147483647."}, {"installment_number", `null`, mayNotBeNull},
		{"payment_transaction_id", `9007199254740991`, `9007199254740991`}, {"payment_transaction_id", `"x"`, notInteger},
		{"recurrence_config", `{"b":1,"a":{"x":[]}}`, `{"b":1,"a":{"x":[]}}`}, {"recurrence_config", `null`, `null`},
		{"recurrence_config", `{"a":` + strings.Repeat("9", 65) + `}`, `!Ensure that each number in it has no more than 64 characters.`},
		{"recurrence_config", `[]`, `!Expected a dictionary of items but got type "list".`},
		{"financial_account_id", `null`, mayNotBeNull}, {"supplier_id", `null`, mayNotBeNull}, {"church_id", `null`, mayNotBeNull},
		{"category_id", fmt.Sprint(w.category), ""}, {"category_id", `null`, ""}, {"subcategory_id", fmt.Sprint(w.subcategory), ""}, {"subcategory_id", `null`, ""},
		{"financial_account_id", `"` + fmt.Sprint(w.account) + `"`, ""}, {"financial_account_id", fmt.Sprintf("%d.0", w.account), ""},
		{"supplier_id", `99`, `!Invalid pk "99" - object does not exist.`}, {"supplier_id", `{}`, "!Incorrect type. Expected pk value, received dict."},
	})
	w.try(t, entryPath(w.entry), trials)
	required := w.status(w.do("POST", "/v1/financial_entries/", `{}`, invalid), 400)
	for _, field := range []string{"transaction_type", "financial_account_id", "base_amount", "church_id", "supplier_id"} {
		if got := required.text(t, "error.details."+field+".0"); got != "This field is required." {
			t.Errorf("%s: %q, want it required", field, got)
		}
	}
}

func TestFieldsOfEvent(t *testing.T) {
	w := newWorld(t)
	link := func(size int) string { return `"https://x.example/` + strings.Repeat("a", size-18) + `"` }
	trials := slices.Concat(bounded("name", 150), bounded("event_url", 300), bounded("available_tickets", 50), []trial{
		{"name", `""`, `""`}, {"description", `""`, `""`}, {"issued_tickets", `0`, `0`}, {"issued_tickets", `2147483647`, `2147483647`},
		{"issued_tickets", `2147483648`, "!Ensure this value is less than or equal to 2147483647."}, {"issued_tickets", `-1`, "!Ensure this value is greater than or equal to 0."},
		{"contact_email", `"a@b.example"`, `"a@b.example"`}, {"contact_email", `"x"`, notEmail}, {"event_fees", `1.5`, `1.5`}, {"event_fees", `null`, `null`},
		{"external_subscription_url", link(2000), link(2000)}, {"external_subscription_url", link(2001), "!Ensure this field has no more than 2000 characters."},
		{"start_datetime", `"x"`, "!Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z]."},
		{"start_datetime", `"2024-05-01 10:00:00.5-0300"`, `"2024-05-01T13:00:00.500000Z"`}, {"start_datetime", `"2024-05-01T10:00:00Z"`, `"2024-05-01T10:00:00Z"`},
	})
	for _, field := range []string{"facebook_url", "instagram_url", "twitter_url", "youtube_url"} {
		trials = append(trials, trial{field, link(200), link(200)}, trial{field, link(201), "!Ensure this field has no more than 200 characters."},
			trial{field, `"x"`, notURL}, trial{field, `null`, `null`})
	}
	for _, field := range []string{"image", "thumbnail", "app_image", "image_webp"} {
		trials = append(trials, trial{field, link(100), link(100)}, trial{field, `"ftp://x.example/"`, notURL}, trial{field, `null`, `null`})
	}
	w.try(t, adminPath("event", w.event), trials)
}

func TestFieldsOfGroupMembershipAndCheckin(t *testing.T) {
	w := newWorld(t)
	w.try(t, adminPath("group", w.group), append(bounded("name", 200), trial{"name", `""`, mayNotBeBlank}, trial{"name", `null`, mayNotBeNull}))
	for body, want := range map[string]string{
		`{}`: "person This field is required.", `{"person":null}`: "person This field may not be null.", `{"person":99}`: `person Invalid pk "99" - object does not exist.`,
		`{"person":"x"}`: "person Incorrect type. Expected pk value, received str.", fmt.Sprintf(`{"person":%d,"is_approved":"maybe"}`, w.person): "is_approved Must be a valid boolean.",
	} {
		a := w.status(w.do("POST", membersPath(w.group), body, invalid), 400)
		field, text, _ := strings.Cut(want, " ")
		if got := a.text(t, "error.details."+field+".0"); got != text {
			t.Errorf("%s: %s = %q, want %q", body, field, got, text)
		}
	}
	a := w.status(w.do("POST", membersPath(w.group), fmt.Sprintf(`{"person":"%d"}`, w.person)), 201)
	if a.text(t, "is_approved") != "true" || a.text(t, "group_id") != fmt.Sprint(w.group) || a.text(t, "approval_date") == "" || a.text(t, "joined_at") == "" {
		t.Errorf("membership = %s", a.body)
	}
	for body, want := range map[string]string{
		`{}`: "This field is required.", `{"code":null}`: "This field may not be null.", `{"code":""}`: "This field may not be blank.", `{"code":"  "}`: "This field may not be blank.",
		`{"code":true}`: "Not a valid string.", `{"code":"` + strings.Repeat("x", 256) + `"}`: "Ensure this field has no more than 255 characters.",
	} {
		for _, path := range []string{checkinPath(w.event), fmt.Sprintf("/door/v1/event/%d/scan/", w.event)} {
			a := w.status(w.do("POST", path, body, invalid), 400)
			if got := a.text(t, "error.details.code.0"); got != want {
				t.Errorf("%s: code = %q, want %q", body, got, want)
			}
		}
	}
	w.status(w.do("POST", checkinPath(w.event), `{"code":"`+strings.Repeat("x", 255)+`"}`), 404)
}

func TestFieldsAreCoercedAsTheFrameworkDoes(t *testing.T) {
	w := newWorld(t)
	var trials []trial
	for value, want := range map[string]string{`12`: `"12"`, `1.50`: `"1.50"`, `true`: notString, `[]`: notString, `{}`: notString, `"a\u0000"`: "!Null characters are not allowed.", `" x "`: `"x"`} {
		trials = append(trials, trial{"occupation", value, want})
	}
	for value, want := range map[string]string{`7`: `7`, `"7"`: `7`, `7.0`: `7`, `" 007 "`: `7`, `"+5"`: notInteger, `"1_0"`: notInteger, `"٣"`: notInteger,
		`true`: notInteger, `"7.0"`: notInteger, `1e2`: notInteger, `7.5`: notInteger, `""`: notInteger, `-3`: `-3`} {
		trials = append(trials, trial{"membership_number", value, want})
	}
	for value, want := range map[string]string{`true`: `true`, `false`: `false`, `1`: `true`, `0`: `false`, `"TRUE"`: `true`, `"False"`: `false`, `"yes"`: `true`, `"no"`: `false`,
		`"on"`: `true`, `"off"`: `false`, `"t"`: `true`, `"F"`: `false`, `"y"`: `true`, `"n"`: `false`, `"maybe"`: notBool, `[]`: notBool, `""`: notBool} {
		trials = append(trials, trial{"has_whatsapp", value, want})
	}
	w.try(t, personPath(w.person), trials)
}

func TestFieldsDateTimesWithoutOffsetAreInTheConfiguredZone(t *testing.T) {
	zone := time.FixedZone("BRT", -3*3600)
	s := newSiteOver(t, kvtest.OpenConfig(t, table.Config{Zone: zone}))
	a := s.status(s.do("POST", "/admin/v1/event/", `{"start_datetime":"2024-05-01T10:00"}`), 201)
	if got := a.text(t, "start_datetime"); got != "2024-05-01T13:00:00Z" {
		t.Errorf("start_datetime = %s", got)
	}
}

// Each writable field that is not write-only must be shown as it was sent, under its own name.
func TestFieldsShownAreThoseOfTheText(t *testing.T) {
	w := newWorld(t)
	for path, want := range map[string]string{
		personPath(w.person): `accepted_jesus baptism_date baptism_type baptized birth_place birth_state birthday blood_type church church_profile cpf
			created_at death_date decision_context decision_date document_country document_issuer education_level email first_visit_date full_name
			gender has_special_needs has_whatsapp id id_document inactive_date inactive_reason inactive_reason_details is_active is_leader is_pastor
			joining_reason leadership_date marital_status marriage_date membership_number membership_start_date membership_type mobile_phone
			nationality occupation phone photo previous_church profile_change_date rg rg_state roles special_needs_details status updated_at visit_reason`,
		entryPath(w.entry): `accrual_date admin_fee admin_fee_cents amount_multiplier attachments base_amount base_amount_cents business_unit category
			church cost_center created_at created_by currency description discount discount_cents display_amount due_date financial_account id
			installment_number interest interest_cents is_paid original_accrual_date original_due_date paid_amount paid_amount_cents payment_date
			payment_method payment_transaction_id penalty penalty_cents recurrence_config small_groups status subcategory supplier
			transaction_type updated_at updated_by`,
		groupPath(w.group): `id name`,
		eventPath(w.event): `active allow_outsiders app_image available available_tickets buyer_only_answers contact_email contact_phone contact_whatsapp
			description enabled end_datetime event_fees event_url external_subscription_url facebook_url has_active_tickets has_available_tickets
			has_external_subscription has_free_tickets has_paid_tickets has_registrations hide_ticket_quantity highlighted hybrid id image image_webp
			incomplete instagram_url issued_tickets legacy_v1 location name paid_event public public_subscription public_url push_sent recurrence_model
			regional responsible_church send_push_notifications shareable short_url_code show_in_app show_on_calendar show_on_site start_datetime
			subscription_deadline thumbnail ticket_sorting twitter_url youtube_url`,
	} {
		var all map[string]json.RawMessage
		if err := json.Unmarshal([]byte(w.do("GET", path, "").body), &all); err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s shows %v\nwant %v", path, got, strings.Fields(want))
		}
	}
}

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
