package record_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
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
			`"direction":"in","door":"Main \"north\"","event_id":7,"flags":["clock_suspect"],"hlc":"018f9e2a3b4c0001","key_id":3,"list":"",` +
			`"node":"01HZX3Q0000000000000000000","nonce":"66656463626139383736353433323130","ticket_id":41}`},
	} {
		if diff := cmp.Diff(row.want, row.got); diff != "" {
			t.Errorf("%s: the canonical body differs: %s", row.name, diff)
		}
	}
}

func TestGoldenRevisions(t *testing.T) {
	first := record.Next(record.Revision{}, false, []byte(`{"name":"Sé"}`))
	second := record.Next(first, false, []byte(`{"name":"Central"}`))
	for _, row := range []struct {
		name string
		got  record.Revision
		want string
	}{
		{"first", first, "1-c8b6cd07ec0eb53251dfb96f12088d95"},
		{"second", second, "2-fd747b4be2353439e6fae9337dc423c2"},
		{"tombstone", record.Next(second, true, []byte(`{}`)), "3-990aaf330a62e83ebeee2078d37f7ab7"},
		{"alive, else the same", record.Next(second, false, []byte(`{}`)), "3-055887cfd1d13dd5d8156c5080ee0417"},
	} {
		if got := row.got.String(); got != row.want {
			t.Errorf("%s = %s, want %s", row.name, got, row.want)
		}
		if back, ok := record.ParseRevision(row.got.String()); !ok || back != row.got {
			t.Errorf("ParseRevision(%s) = %v, %t", row.got, back, ok)
		}
	}
	for _, bad := range []string{"1", "1-", "0-" + first.String()[2:], "01-" + first.String()[2:], "1-" + "G" + first.String()[3:], "+1-" + first.String()[2:], first.String() + "0"} {
		if r, ok := record.ParseRevision(bad); ok {
			t.Errorf("ParseRevision(%s) = %v", bad, r)
		}
	}
}

// TestFreeRevisions: a free document's revision has the hash that its server gave it; of a record's the same text is none.
func TestFreeRevisions(t *testing.T) {
	hex := strings.Repeat("0f", 16)
	for _, good := range []string{"1-a", "2-x", "1-", "10-a-b", "1-" + hex + "0", "1-" + hex[1:], "3-" + strings.Repeat("long", 2048), `1-"é" \`, "1-G"} {
		rev, ok := record.ParseFreeRevision(good)
		if !ok || rev.String() != good || rev.String() != strconv.FormatUint(rev.Generation, 10)+"-"+rev.HashText() {
			t.Errorf("ParseFreeRevision(%.50s) = %.50s, %t", good, rev, ok)
		}
		again := record.Revision{Generation: rev.Generation}
		if !again.SetHash(rev.AppendHash(nil)) || again != rev {
			t.Errorf("%.50s is %.50s once it was written", good, again)
		}
		if record, ok := record.ParseRevision(good); ok {
			t.Errorf("ParseRevision(%.50s) = %s", good, record)
		}
	}
	if rev, ok := record.ParseFreeRevision("1-" + strings.ToUpper(hex)); !ok || rev.String() != "1-"+hex {
		t.Errorf("upper-case digits are %s, %t", rev, ok)
	}
	for _, bad := range []string{"1", "0-a", "-a", "01-a", "+1-a", "x-a", "9007199254740993-a", "1-" + strings.Repeat("g", 32), "1-a\x00", "1-\xff", "1-" + strings.Repeat("long", 2048) + "r"} {
		if rev, ok := record.ParseFreeRevision(bad); ok {
			t.Errorf("ParseFreeRevision(%.50q) = %.50s", bad, rev)
		}
	}
}

// TestRevisionsAreInCouchDBsOrder: by generation, then by the bytes of the hash, of which hex digits are 16.
func TestRevisionsAreInCouchDBsOrder(t *testing.T) {
	order := []string{"1-", "1-00000000000000000000000000000000", "1-0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f", "1-A", "1-a", "1-aa", "1-ab", "1-b",
		"1-70000000000000000000000000000000", "1-z", "1-90000000000000000000000000000000", "1-fffffffffffffffffffffffffffffffe", "2-", "2-a", "10-"}
	for i, x := range order {
		for j, y := range order {
			a, _ := record.ParseFreeRevision(x)
			b, _ := record.ParseFreeRevision(y)
			if got := a.Compare(b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%s against %s = %d", x, y, got)
			}
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
	again, _ := record.Checkin.NewFact(record.Member{Name: "event_id", Value: record.Number(7)}, record.Member{Name: "door", Value: record.Quote("x")})
	if got := string(again.Member("door")) + string(again.Member("direction")) + string(again.Member("flags")); got != `"x""in"[]` {
		t.Errorf("door, direction and flags = %s", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a member out of order is taken")
		}
	}()
	late := record.Checkin.NewDraft()
	late.Text("door", "x")
	late.Int("event_id", 7)
}
