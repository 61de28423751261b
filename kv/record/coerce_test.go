package record_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/value"
)

// coercions are contract.md §4 and §12, value by value, each for a field of the type that it is about.
var coercions = map[*record.Kind][]bound{
	record.Person: {
		{"occupation", `"  a b \t"`, `"a b"`}, {"occupation", "12", `"12"`}, {"occupation", "1.50", `"1.50"`},
		{"occupation", "true", "!" + fault.NotString}, {"occupation", "[]", "!" + fault.NotString},
		{"occupation", `{"a":1}`, "!" + fault.NotString}, {"occupation", `"a\u0000"`, "!" + fault.NUL},
		{"occupation", `"\u0041\/<&>\u2028\u007f\u001f\n"`, "\"A/<&>\u2028\u007f\\u001f\""},
		{"membership_number", `"7"`, "7"}, {"membership_number", "7.0", "7"}, {"membership_number", "7.00", "7"},
		{"membership_number", `" 007 "`, "7"}, {"membership_number", "-0", "0"}, {"membership_number", `"-7"`, "-7"},
		{"membership_number", `"7.0"`, "!" + fault.NotInteger}, {"membership_number", "1e2", "!" + fault.NotInteger},
		{"membership_number", `"+5"`, "!" + fault.NotInteger}, {"membership_number", `"1_0"`, "!" + fault.NotInteger},
		{"membership_number", `"٧"`, "!" + fault.NotInteger}, {"membership_number", "true", "!" + fault.NotInteger},
		{"membership_number", `""`, "!" + fault.NotInteger}, {"membership_number", "7.5", "!" + fault.NotInteger},
		{"membership_number", strings.Repeat("9", 400), "!Ensure this value is less than or equal to 2147483647."},
		{"membership_number", "-" + strings.Repeat("9", 400), "!Ensure this value is greater than or equal to -2147483648."},
		{"is_leader", `"TRUE"`, "true"}, {"is_leader", `"t"`, "true"}, {"is_leader", `"on"`, "true"}, {"is_leader", `"Y"`, "true"},
		{"is_leader", "1", "true"}, {"is_leader", `"1"`, "true"}, {"is_leader", `"OFF"`, "false"}, {"is_leader", `"n"`, "false"},
		{"is_leader", `"f"`, "false"}, {"is_leader", `"maybe"`, "!" + fault.NotBool}, {"is_leader", "[]", "!" + fault.NotBool},
		{"birthday", `"2024-2-9"`, "!" + fault.Date}, {"birthday", `"0000-01-01"`, "!" + fault.Date},
		{"birthday", `"0001-01-01"`, `"0001-01-01"`}, {"birthday", `"9999-12-31"`, `"9999-12-31"`},
		{"birthday", `"10000-01-01"`, "!" + fault.Date}, {"birthday", `"2024-02-30"`, "!" + fault.Date},
		{"birthday", "20240101", "!" + fault.Date}, {"birthday", `""`, "!" + fault.Date},
		{"birthday", `"2024-01-01T00:00:00Z"`, "!" + fault.Date}, {"birthday", `"２０24-01-01"`, "!" + fault.Date},
		{"email", `"Ana.Souza+x@Example.ORG"`, `"Ana.Souza+x@Example.ORG"`}, {"email", `"ana"`, "!" + fault.Email},
		{"email", `"ana@example"`, "!" + fault.Email}, {"email", `"ana@localhost"`, `"ana@localhost"`},
		{"email", `"a..b@e.org"`, "!" + fault.Email}, {"email", `"\"a b\"@e.org"`, "!" + fault.Email},
		{"email", `"a@e-.org"`, "!" + fault.Email}, {"email", `"a@[::1]"`, `"a@[::1]"`}, {"email", `"a@[x]"`, "!" + fault.Email},
		{"email", `"a@e.org\nb"`, "!" + fault.Email}, {"email", `"a@b@e.org"`, "!" + fault.Email},
		{"photo", `"https:///x"`, "!" + fault.URL}, {"photo", `"https://e.org/a b"`, "!" + fault.URL},
		{"photo", `"//e.org/a"`, "!" + fault.URL}, {"photo", `"javascript:alert(1)"`, "!" + fault.URL},
		{"gender", "5", `!"5" is not a valid choice.`}, {"gender", `"Male"`, `!"Male" is not a valid choice.`},
		{"church_id", `""`, "null"}, {"church_id", "-1", "!" + fault.InvalidPK("-1")}, {"church_id", "true", "!Incorrect type. Expected pk value, received bool."},
		{"church_id", "[1]", "!Incorrect type. Expected pk value, received list."},
		{"location", `{"a":{"\u0062":1e400,"a":-0.0}, "_x":"\"}"}`, `{"a":{"b":1e400,"a":-0.0},"_x":"\"}"}`},
	},
	record.FinancialEntry: {
		{"penalty", `".5"`, `"0.50"`}, {"penalty", `"5."`, `"5.00"`}, {"penalty", "1e2", `"100.00"`}, {"penalty", `"-0"`, `"0.00"`},
		{"penalty", "-0.0", `"0.00"`}, {"penalty", `"00012.50"`, `"12.50"`}, {"penalty", `" 3 "`, `"3.00"`}, {"penalty", `"1.230"`, "!" + fault.Places},
		{"penalty", `"+5"`, "!" + fault.NotNumber}, {"penalty", `"1,5"`, "!" + fault.NotNumber}, {"penalty", `"NaN"`, "!" + fault.NotNumber},
		{"penalty", `"Infinity"`, "!" + fault.NotNumber}, {"penalty", `""`, "!" + fault.NotNumber}, {"penalty", `"."`, "!" + fault.NotNumber},
		{"penalty", "true", "!" + fault.NotNumber}, {"penalty", `"1_0"`, "!" + fault.NotNumber}, {"penalty", `"٧"`, "!" + fault.NotNumber},
		{"penalty", "1e7", `"10000000.00"`}, {"penalty", "1e8", "!" + fault.Whole}, {"penalty", "1e9999", "!" + fault.Whole},
		{"penalty", "1e-9999", "!" + fault.Places}, {"penalty", "1e99999", "!" + fault.NotNumber},
		{"penalty", "1e999999999999999999999", "!" + fault.NotNumber}, {"penalty", "0e9999", `"0.00"`},
		{"penalty", quoted(strings.Repeat("0", 999) + "1"), `"1.00"`}, {"penalty", quoted(strings.Repeat("0", 1000) + "1"), "!" + fault.TooLarge},
		{"penalty", strings.Repeat("9", 1000), "!" + fault.Whole},
	},
	record.Event: {
		{"start_datetime", `"2026-05-01 09:30"`, `"2026-05-01T12:30:00Z"`}, {"start_datetime", `"2026-05-01T09:30:15Z"`, `"2026-05-01T09:30:15Z"`},
		{"start_datetime", `"2026-05-01t09:30:15z"`, `"2026-05-01T09:30:15Z"`}, {"start_datetime", `"2026-05-01T09:30:15.5+0200"`, `"2026-05-01T07:30:15.500000Z"`},
		{"start_datetime", `"2026-05-01T09:30:15.000001-03"`, `"2026-05-01T12:30:15.000001Z"`},
		{"start_datetime", `"2026-05-01T09:30:15.0000009Z"`, `"2026-05-01T09:30:15Z"`}, {"start_datetime", `"2026-05-01T09:30:15.123456789Z"`, `"2026-05-01T09:30:15.123456Z"`},
		{"start_datetime", `"2026-05-01T24:00:00Z"`, "!" + fault.DateTime}, {"start_datetime", `"2026-05-01T09:60:00Z"`, "!" + fault.DateTime},
		{"start_datetime", `"2026-05-01T09:30:60Z"`, "!" + fault.DateTime}, {"start_datetime", `"2026-02-30T09:30:00Z"`, "!" + fault.DateTime},
		{"start_datetime", `"2026-05-01T09:30:15.Z"`, "!" + fault.DateTime}, {"start_datetime", `"2026-05-01T09:30+25:00"`, "!" + fault.DateTime},
		{"start_datetime", `"2026-05-01T09:30 GMT"`, "!" + fault.DateTime}, {"start_datetime", `"0001-01-01T00:00:00+01:00"`, "!" + fault.DateTime},
		{"start_datetime", `"9999-12-31T23:59:59-01:00"`, "!" + fault.DateTime}, {"start_datetime", "1777000000", "!" + fault.DateTime},
		{"event_fees", "12.50", "12.50"}, {"event_fees", `"x"`, "!" + fault.NotNumber}, {"event_fees", "1E308", "!" + fault.NotNumber},
		{"event_fees", "-1e307", "-1e307"}, {"event_fees", "0e9999", "0"}, {"event_fees", `".5"`, "0.5"},
		{"facebook_url", `"ftp://e.org"`, "!" + fault.URL}, {"facebook_url", `"http://e.org"`, `"http://e.org"`},
		{"location", `{"city":"Rio","own":1}`, `{"city":"Rio","own":1,"country":null,"state":null,"zip_code":null,"address":null,` +
			`"address_number":null,"address_complement":null,"neighborhood":null,"latitude":null,"longitude":null}`},
	},
	record.APIKey: {
		{"permissions", `["people:GET", "event:*"]`, `["people:GET","event:*"]`}, {"permissions", `"people:GET, event:*"`, `["people:GET","event:*"]`},
		{"permissions", `[""]`, "!" + fault.Blank}, {"permissions", `5`, `!Expected a list of items but got type "int".`}, {"rate_limit", "0", "!Ensure this value is greater than or equal to 1."},
	},
	record.Undo: {
		{"checkin_id", `"01hzx3q0000000000000000abc"`, `"01HZX3Q0000000000000000ABC"`}, {"checkin_id", `"x"`, "!" + fault.ULID},
		{"hlc", `"018F9E2A3B4C0001"`, `"018f9e2a3b4c0001"`}, {"hlc", `"018F9E2A3B4C000"`, "!" + fault.Hex}, {"nonce", `"xx"`, "!" + fault.Hex},
	},
}

func TestCoercions(t *testing.T) {
	zone := time.FixedZone("-03", -3*3600)
	for k, table := range coercions {
		for _, row := range table {
			checkBound(t, k, record.ParseOptions{Surface: record.Admin, Zone: zone}, row)
		}
	}
}

func TestParseTellsAllFaultsAtOnce(t *testing.T) {
	p, err := record.FinancialEntry.Parse([]byte(`{"transaction_type":" ","church_id":null,"base_amount":"1.001","due_date":"x","is_paid":"yes"}`),
		record.ParseOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	want := fault.ByField{
		"transaction_type":     {fault.Blank},
		"church_id":            {fault.Null},
		"base_amount":          {fault.Places},
		"due_date":             {fault.Date},
		"financial_account_id": {fault.Required},
		"supplier_id":          {fault.Required},
	}
	if diff := cmp.Diff(want, p.Faults); diff != "" {
		t.Errorf("faults differ: %s", diff)
	}
	if got, want := p.Faults.Error(), "invalid fields: base_amount, church_id, due_date, financial_account_id, supplier_id, transaction_type"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

func TestParseIgnoresWhatASurfaceCannotSet(t *testing.T) {
	const body = `{"id":5,"role_ids":"x","created_at":"x","profile_change_date":"x","status":"approved","church":{"id":1},"Full_name":"x","_rev":"1","updated_at":7}`
	p, err := record.Person.Parse([]byte(body), record.ParseOptions{})
	if err != nil || len(p.Faults) > 0 {
		t.Fatalf("Parse = %v, faults %v", err, p.Faults)
	}
	if changed := record.Person.NewDoc().Apply(p); !cmp.Equal(changed, []string{"status"}) {
		t.Errorf("V1 sets %v, want status alone", changed)
	}
	p, err = record.APIKey.Parse([]byte(`{"name":"a","secret_hash":"x","key":"dw_1"}`), record.ParseOptions{Surface: record.Admin})
	if _, ok := p.Value("key"); err != nil || ok || len(p.Faults) > 0 {
		t.Errorf("Admin sets a key's own fields: %v, faults %v", err, p.Faults)
	}
}

func TestParseSaysWhereABodyIsNoObject(t *testing.T) {
	deep := func(n int) string { return `{"x":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + "}" }
	for _, row := range []struct {
		name, body   string
		line, column int // 0 where the body is taken
	}{
		{"empty", "", 0, 0},
		{"white space", " \r\n\t", 0, 0},
		{"object", " {} ", 0, 0},
		{"list", "\n []", 2, 2},
		{"null", "null", 1, 1},
		{"text", `"x"`, 1, 1},
		{"byte order mark", "\xef\xbb\xbf{}", 1, 1},
		{"trailing data", "{}\n  x", 2, 3},
		{"second object", "{}{}", 1, 3},
		{"name twice", `{"a":1,"a":2}`, 1, 8},
		{"name twice, once escaped", `{"a":1,"\u0061":2}`, 1, 8},
		{"name twice below", `{"x":[{"a":1,"a":2}]}`, 1, 14},
		{"bad byte", "{\"a\":\"\xff\"}", 1, 7},
		{"lone surrogate", "{\n\"ã\":\"\\ud800\"}", 2, 6},
		{"NaN", `{"a":NaN}`, 1, 6},
		{"cut off", `{"a":1`, 1, 7},
		{"cut off in a string", `{"a":"`, 1, 7},
		{"leading zero", `{"a":01}`, 1, 7},
		{"comma at the end", `{"a":1,}`, 1, 7},
		{"1000 levels", deep(1000), 0, 0},
		{"1001 levels", deep(1001), 1, 1005},
	} {
		_, err := record.Person.Parse([]byte(row.body), record.ParseOptions{})
		syntax, _ := err.(*value.SyntaxError)
		switch {
		case row.line == 0 && err != nil:
			t.Errorf("%s: %v", row.name, err)
		case row.line > 0 && syntax == nil:
			t.Errorf("%s: taken", row.name)
		case row.line > 0 && (syntax.Line != row.line || syntax.Column != row.column):
			t.Errorf("%s: %v, want line %d, column %d", row.name, syntax, row.line, row.column)
		}
	}
}
