package record_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/value"
)

// The vectors of this file are what two versions of the program, or two programs, must agree on (design.md §4). They may
// be added to and must never be changed.

func TestGoldenDocIDs(t *testing.T) {
	fact := record.FromULID(ulid.MustParse("01HZX3Q0000000000000000ABC"))
	for _, row := range []struct {
		kind *record.Kind
		id   record.ID
		want string
	}{
		{record.Person, record.Int(1), "person:0000000000000001"},
		{record.FinancialEntry, record.Int(record.MaxID), "financial_entry:9007199254740991"},
		{record.Checkin, fact, "checkin:01HZX3Q0000000000000000ABC"},
	} {
		if got := row.kind.DocID(row.id); got != row.want {
			t.Errorf("DocID(%v) = %s, want %s", row.id, got, row.want)
		}
	}
}

// goldenChurch stands for all that is canonical: Unicode, escapes, nested objects sorted at every depth, numbers as they
// were written, names that begin with "_" left out.
const goldenChurch = `"name":"Sé \"Velha\" \\ /<&>\u0007\n","z":{"b":{"d":1.50,"c":-0},"a":[{"y":null,"x":true}],"é":1e400,"É":2},` +
	`"_attachments":{"a":1},"_rev":"1-x","Z":12345678901234567890`

func TestGoldenCanonicalBodies(t *testing.T) {
	church, err := record.Church.Decode(record.Body{Shown: []byte(goldenChurch)})
	if err != nil {
		t.Fatal(err)
	}
	draft := checkinDraft(time.Date(2026, 5, 1, 18, 0, 0, 123456000, time.UTC))
	_, checkin := draft.Close()
	for _, row := range []struct {
		name, got, want string
	}{
		{"church", string(church.Canonical()), `{"Z":12345678901234567890,"created_at":null,"created_by":null,"external_id":null,` +
			`"name":"Sé \"Velha\" \\ /<&>\u0007\n","regional_id":null,` +
			`"z":{"a":[{"x":true,"y":null}],"b":{"c":-0,"d":1.50},"É":2,"é":1e400}}`},
		{"entry", string(settled(t, record.FinancialEntry, `{"transaction_type":"income","base_amount":1e2,"church_id":"3","financial_account_id":1,`+
			`"supplier_id":2,"recurrence_config":{"b":{"d":1,"c":2},"a":1.0}}`).Canonical()),
			`{"accrual_date":null,"admin_fee":"0.00","attachments":[],"base_amount":"100.00","business_unit_id":null,"category_id":null,` +
				`"church_id":3,"cost_center_id":null,"created_at":"2026-05-01T12:00:00Z","created_by":null,"currency":null,"description":null,` +
				`"discount":"0.00","due_date":null,"external_id":null,"financial_account_id":1,"installment_number":1,"interest":"0.00",` +
				`"is_paid":false,"original_accrual_date":null,"original_due_date":null,"paid_amount":"0.00","payment_date":null,` +
				`"payment_method":null,"payment_transaction_id":null,"penalty":"0.00","recurrence_config":{"a":1.0,"b":{"c":2,"d":1}},` +
				`"small_group_ids":[],"subcategory_id":null,"supplier_id":2,"transaction_type":"income"}`},
		{"checkin", string(checkin), `{"at":"2026-05-01T18:00:00.123456Z","basis":null,"clock_offset_ms":-12,"code_hash":"30313233343536373839616263646566",` +
			`"direction":"in","door":"Main \"north\"","event_id":7,"flags":["clock_suspect"],"hlc":"018f9e2a3b4c0001","holding":null,"key_id":3,"list":"",` +
			`"node":"01HZX3Q0000000000000000000","nonce":"66656463626139383736353433323130","ticket_id":41,"verdict":null}`},
	} {
		if diff := cmp.Diff(row.want, row.got); diff != "" {
			t.Errorf("%s: the canonical body differs: %s", row.name, diff)
		}
	}
}

func TestFactIsWhatADocumentOfItWouldBe(t *testing.T) {
	draft := checkinDraft(noon)
	body, canonical := draft.Close()
	d, err := record.Checkin.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(d.Canonical()), string(canonical)); diff != "" {
		t.Errorf("canonical texts differ: %s", diff)
	}
	if diff := cmp.Diff(string(d.Encode().Shown), string(body.Shown)); diff != "" || len(body.Hidden) > 0 {
		t.Errorf("bodies differ: %s, hidden %s", diff, body.Hidden)
	}
	again := record.NewDraft(record.Checkin)
	again.Raw("event_id", value.Number(7))
	again.Raw("door", value.Quote("x"))
	defaults, _ := again.Close()
	if got := string(defaults.Member("door")) + string(defaults.Member("direction")) + string(defaults.Member("flags")); got != `"x""in"[]` {
		t.Errorf("door, direction and flags = %s", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a member out of order is taken")
		}
	}()
	late := record.NewDraft(record.Checkin)
	late.Text("door", "x")
	late.Int("event_id", 7)
}
