package record_test

import (
	"strings"
	"testing"

	"doorward/kv/fault"
	"doorward/kv/record"
)

// bound is one value of one field: what is stored, or the sentence that refuses it.
type bound struct {
	field string
	given string
	want  string // stored text; a sentence where it begins with "!"
}

// long is a text of n characters of two bytes each.
func long(n int) string { return quoted(strings.Repeat("ã", n)) }

// site is an address of n characters.
func site(n int) string { return quoted("https://e.org/" + strings.Repeat("x", n-14)) }

func mail(n int) string {
	return quoted("a@" + strings.Repeat(strings.Repeat("b", 49)+".", (n-6)/50) + strings.Repeat("c", (n-6)%50) + ".org")
}

func atMost(field string, n int) []bound {
	return []bound{{field, long(n), long(n)}, {field, long(n + 1), "!" + fault.TooLong(n)}}
}

func siteAtMost(field string, n int) []bound {
	return []bound{{field, site(n), site(n)}, {field, site(n + 1), "!" + fault.TooLong(n)}, {field, `"x"`, "!" + fault.URL},
		{field, "null", "null"}}
}

func filled(field string) []bound {
	return []bound{{field, `""`, "!" + fault.Blank}, {field, `" "`, "!" + fault.Blank}, {field, `"x"`, `"x"`}, {field, "null", "null"}}
}

func oneOf(field string, choices ...string) []bound {
	rows := []bound{{field, `"x"`, `!"x" is not a valid choice.`}, {field, `""`, `!"" is not a valid choice.`}, {field, "null", "null"}}
	for _, c := range choices {
		rows = append(rows, bound{field, quoted(c), quoted(c)})
	}
	return rows
}

func dated(field string) []bound {
	return []bound{{field, `"2024-02-29"`, `"2024-02-29"`}, {field, `"2023-02-29"`, "!" + fault.Date}, {field, "null", "null"}}
}

func moment(field string) []bound {
	return []bound{{field, `"2026-05-01T09:00:00-03:00"`, `"2026-05-01T12:00:00Z"`}, {field, `"2026-05-01"`, "!" + fault.DateTime}}
}

func flag(fields ...string) (rows []bound) {
	for _, field := range fields {
		rows = append(rows, bound{field, `"yes"`, "true"}, bound{field, "0", "false"},
			bound{field, "2", "!" + fault.NotBool}, bound{field, "null", "!" + fault.Null})
	}
	return rows
}

func amount(field string) []bound {
	return []bound{
		{field, `"99999999.99"`, `"99999999.99"`}, {field, `"-99999999.99"`, `"-99999999.99"`},
		{field, `"100000000"`, "!" + fault.Whole}, {field, `"-100000000.00"`, "!" + fault.Whole},
		{field, `1.23`, `"1.23"`}, {field, `1.230`, "!" + fault.Places}, {field, "null", "!" + fault.Null},
	}
}

func reference(field, null string) []bound {
	return []bound{{field, "1", "1"}, {field, `"7"`, "7"}, {field, "7.0", "7"}, {field, "9007199254740991", "9007199254740991"},
		{field, "9007199254740992", "!" + fault.InvalidPK("9007199254740992")}, {field, "0", "!" + fault.InvalidPK("0")},
		{field, "1.5", "!Incorrect type. Expected pk value, received float."},
		{field, `"x"`, "!Incorrect type. Expected pk value, received str."}, {field, "null", null}}
}

func integer32(field, null string) []bound {
	return []bound{{field, "2147483647", "2147483647"}, {field, "-2147483648", "-2147483648"}, {field, "null", null},
		{field, "2147483648", "!Ensure this value is less than or equal to 2147483647."},
		{field, "-2147483649", "!Ensure this value is greater than or equal to -2147483648."}}
}

func rows(parts ...[]bound) (all []bound) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

const refusedNull = "!" + fault.Null

// seedBounds are every field of the seed's parts 2.2 to 2.6, and every row of its part 8 at its limit and one beyond.
var seedBounds = map[*record.Kind][]bound{
	record.FinancialEntry: rows(
		[]bound{{"transaction_type", `""`, "!" + fault.Blank}, {"transaction_type", `"i"`, `"i"`}, {"transaction_type", "null", refusedNull}},
		reference("financial_account_id", refusedNull), reference("church_id", refusedNull), reference("supplier_id", refusedNull),
		reference("category_id", "null"), reference("subcategory_id", "null"), reference("cost_center_id", "null"),
		reference("business_unit_id", "null"),
		amount("base_amount"), amount("paid_amount"), amount("penalty"), amount("admin_fee"), amount("interest"), amount("discount"),
		atMost("description", 300), atMost("currency", 3), []bound{{"description", `""`, `""`}, {"currency", `""`, `""`}},
		dated("due_date"), dated("accrual_date"), dated("payment_date"), dated("original_due_date"), dated("original_accrual_date"),
		flag("is_paid"), integer32("installment_number", refusedNull),
		oneOf("payment_method", "billet", "pix", "credit_card", "debit_card", "money", "transference", "bank_check", "direct_debit", "other"),
		[]bound{
			{"payment_transaction_id", "9007199254740991", "9007199254740991"},
			{"payment_transaction_id", "9007199254740992", "!Ensure this value is less than or equal to 9007199254740991."},
			{"payment_transaction_id", "null", refusedNull},
			{"recurrence_config", `{"a":` + strings.Repeat("1", 64) + `}`, `{"a":` + strings.Repeat("1", 64) + `}`},
			{"recurrence_config", `{"a":[{"b":-` + strings.Repeat("1", 64) + `}]}`, "!" + fault.LongNumber},
			{"recurrence_config", `{"a":1.5e` + strings.Repeat("0", 61) + `}`, "!" + fault.LongNumber},
			{"recurrence_config", `{"a":[1,` + strings.Repeat("2,", 90) + `"` + strings.Repeat("3", 99) + `",4]}`, `{"a":[1,` + strings.Repeat("2,", 90) + `"` + strings.Repeat("3", 99) + `",4]}`},
			{"recurrence_config", "null", "null"}, {"recurrence_config", "[]", `!Expected a dictionary of items but got type "list".`},
			{"recurrence_config", `{ "b": 1.50, "a": "\u00e9\/" }`, `{"b":1.50,"a":"é/"}`},
			{"created_at", "null", "null"}, {"created_by", "null", "null"},
			{"attachments", `[{"id":1}]`, `[{"id":1,"name":null,"content_type":null,"size":null,"url":null,"created_at":null}]`},
			{"attachments", `{}`, `!Expected a list of items but got type "dict".`}, {"attachments", `[1]`, `!Expected a dictionary of items but got type "int".`},
			{"small_group_ids", "[1,\"2\",1]", "[1,2]"}, {"small_group_ids", `"1, 2"`, "[1,2]"}, {"small_group_ids", "null", refusedNull},
		}),
	record.Event: rows(
		flag("show_on_calendar", "incomplete", "shareable", "paid_event", "has_registrations", "active", "enabled", "show_in_app",
			"highlighted", "public", "available", "buyer_only_answers", "public_url", "public_subscription", "recurrence_model",
			"send_push_notifications", "legacy_v1", "hybrid", "has_paid_tickets", "show_on_site", "push_sent", "allow_outsiders",
			"has_free_tickets", "has_available_tickets", "has_active_tickets", "has_external_subscription", "hide_ticket_quantity"),
		[]bound{{"short_url_code", `""`, `""`}, {"ticket_sorting", `"name"`, `"name"`}, {"contact_phone", `5`, `"5"`},
			{"contact_whatsapp", `true`, "!" + fault.NotString}, {"description", `""`, `""`},
			{"contact_email", `"a@b"`, "!" + fault.Email}, {"contact_email", `""`, `""`},
			{"issued_tickets", "0", "0"}, {"issued_tickets", "2147483647", "2147483647"},
			{"issued_tickets", "-1", "!Ensure this value is greater than or equal to 0."},
			{"issued_tickets", "2147483648", "!Ensure this value is less than or equal to 2147483647."},
			{"event_fees", "0.10", "0.10"}, {"event_fees", `"1e2"`, "100"}, {"event_fees", "1e400", "!" + fault.NotNumber},
			{"location", "[]", `!Expected a dictionary of items but got type "list".`},
			{"list_rule", `"weekly"`, `!"weekly" is not a valid choice.`}, {"list_rule", `"daily"`, `"daily"`}, {"list_rule", `"reentry"`, `"reentry"`},
			{"notices", `"x"`, `!Expected a dictionary of items but got type "str".`}, {"notices", `{"Child":"ask"}`, `{"Child":"ask"}`}, {"notices", "null", "null"},
			{"day_begins", `"4:30"`, `"04:30"`}, {"day_begins", `"23:59:00"`, `"23:59"`}, {"day_begins", `"24:00"`, "!" + fault.TimeOfDay},
			{"day_begins", `"04:00:30"`, "!" + fault.TimeOfDay}, {"day_begins", `4`, "!" + fault.TimeOfDay}, {"day_begins", `""`, "!" + fault.TimeOfDay},
			{"day_begins", "null", refusedNull}},
		moment("start_datetime"), moment("end_datetime"), moment("subscription_deadline"),
		atMost("name", 150), atMost("event_url", 300), atMost("available_tickets", 50),
		siteAtMost("image", 1999)[:1], siteAtMost("thumbnail", 1999)[:1], siteAtMost("app_image", 1999)[:1], siteAtMost("image_webp", 1999)[:1],
		siteAtMost("facebook_url", 200), siteAtMost("instagram_url", 200), siteAtMost("twitter_url", 200), siteAtMost("youtube_url", 200),
		siteAtMost("external_subscription_url", 2000),
		reference("church_id", "null"), reference("regional_id", "null")),
	record.Person: rows(
		[]bound{{"full_name", `""`, "!" + fault.Blank}, {"full_name", `"x"`, `"x"`}, {"full_name", "null", refusedNull}},
		atMost("full_name", 255),
		oneOf("gender", "male", "female"), oneOf("status", "pending", "approved", "refused"), reference("church_id", "null"),
		[]bound{{"photo", `""`, "!" + fault.Blank}, {"photo", `"http://e.org/a"`, "!" + fault.URL}, {"photo", site(40), site(40)},
			{"photo", "null", "null"}},
		flag("is_pastor", "is_leader", "accepted_jesus", "has_whatsapp", "has_special_needs", "is_active"),
		[]bound{{"baptized", "null", "null"}, {"baptized", `"n"`, "false"}, {"baptized", `""`, "!" + fault.NotBool}},
		dated("leadership_date"), dated("decision_date"), dated("birthday"), dated("baptism_date"), dated("marriage_date"),
		dated("death_date"), dated("membership_start_date"), dated("first_visit_date"), dated("inactive_date"), dated("profile_change_date"),
		filled("decision_context"), filled("rg_state"), filled("marital_status"), filled("mobile_phone"), filled("special_needs_details"),
		filled("id_document"), filled("document_country"), filled("joining_reason"), filled("previous_church"), filled("education_level"),
		filled("membership_type"), filled("visit_reason"), filled("birth_state"), filled("birth_place"), filled("inactive_reason_details"),
		atMost("cpf", 11), atMost("rg", 14), atMost("phone", 24), atMost("document_issuer", 255), atMost("occupation", 100), atMost("nationality", 100),
		[]bound{{"cpf", `""`, `""`}, {"rg", `""`, `""`}, {"email", `""`, `""`}, {"phone", `""`, `""`}, {"document_issuer", `""`, `""`},
			{"occupation", `""`, `""`}, {"nationality", `""`, `""`}},
		[]bound{{"email", mail(254), mail(254)}, {"email", mail(255), "!" + fault.TooLong(254)}, {"email", "null", "null"}},
		integer32("membership_number", "null"),
		oneOf("church_profile", "visitor", "frequent", "member"), oneOf("location_type", "national", "international"),
		[]bound{{"location", "null", "null"}, {"location", `"x"`, `!Expected a dictionary of items but got type "str".`}, {"location", `{"x":1}`, `{"x":1}`}},
		oneOf("baptism_type", "immersion", "aspersion"), oneOf("blood_type", "o-", "o+", "a-", "a+", "b-", "b+", "ab-", "ab+"),
		oneOf("inactive_reason", "transference", "death", "withdrawal", "exclusion", "no_contact", "other"),
		moment("created_at"), []bound{{"role_ids", "[]", "[]"}}),
	record.Group: rows(atMost("name", 200), filled("name")[:3], []bound{{"name", "null", refusedNull}}, reference("church_id", "null")),
	record.Membership: rows(reference("person", refusedNull), reference("group_id", refusedNull), flag("is_approved"),
		moment("approval_date"), moment("joined_at")),
}

func TestSeedBounds(t *testing.T) {
	for k, table := range seedBounds {
		seen := map[string]bool{"external_id": true, "created_at": true, "created_by": true}
		for _, row := range table {
			seen[row.field] = true
			f, ok := k.Field(row.field)
			if !ok {
				t.Fatalf("%s has no field %s", k.Name, row.field)
			}
			surface := record.V1
			if !f.Settable(record.V1) {
				surface = record.Admin
			}
			if surface == record.Admin && row.given == "null" && f.TakesNull(surface) {
				continue
			}
			checkBound(t, k, record.ParseOptions{Surface: surface}, row)
		}
		for _, f := range k.Fields {
			if f.Stored() && !seen[f.Name] {
				t.Errorf("the table of %s has no row for %s", k.Name, f.Name)
			}
		}
	}
}

func checkBound(t *testing.T, k *record.Kind, o record.ParseOptions, row bound) {
	t.Helper()
	p, err := k.Parse([]byte(`{"`+row.field+`":`+row.given+`}`), o)
	if err != nil {
		t.Fatalf("%s: %v", row.given, err)
	}
	got, _ := p.Value(row.field)
	answer := string(got)
	if faults := p.Faults[row.field]; len(faults) > 0 {
		answer = "!" + strings.Join(faults, " ")
	}
	if answer != row.want {
		t.Errorf("%s.%s = %.60s: got %.90s, want %.90s", k.Name, row.field, row.given, answer, row.want)
	}
}
