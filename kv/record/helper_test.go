package record_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/record"
	"doorward/kv/value"
)

// noon is the moment at which the tests' changes are made.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// parsed reads a body that must have no fault.
func parsed(tb testing.TB, k *record.Kind, s record.Surface, text string) *record.Patch {
	tb.Helper()
	p, err := k.Parse([]byte(text), record.ParseOptions{Surface: s})
	if err != nil || len(p.Faults) > 0 {
		tb.Fatalf("Parse(%s) of %s: %v, faults %v", text, k.Name, err, p.Faults)
	}
	return p
}

// settled is a record made of a body on Admin.
func settled(tb testing.TB, k *record.Kind, text string) *record.Doc {
	tb.Helper()
	d := k.NewDoc()
	d.Apply(parsed(tb, k, record.Admin, text))
	d.Settle(nil, record.Moment{Now: noon})
	return d
}

// changed lays a body over a copy of a record, a day later, and settles it.
func changed(tb testing.TB, before *record.Doc, text string) *record.Doc {
	tb.Helper()
	d := before.Clone()
	d.Apply(parsed(tb, d.Kind, record.Admin, text))
	d.Settle(before, record.Moment{Now: noon.AddDate(0, 0, 1)})
	return d
}

// checkinDraft is an admission as a door writes it.
func checkinDraft(at time.Time) record.Draft {
	d := record.NewDraft(record.Checkin)
	d.Int("event_id", 7)
	d.Int("ticket_id", 41)
	d.Hex("code_hash", []byte("0123456789abcdef"))
	d.Text("door", "Main \"north\"")
	d.Int("key_id", 3)
	d.Text("node", "01HZX3Q0000000000000000000")
	d.Text("hlc", "018f9e2a3b4c0001")
	d.Time("at", at)
	d.Int("clock_offset_ms", -12)
	d.Hex("nonce", []byte("fedcba9876543210"))
	d.Raw("flags", value.Texts("clock_suspect"))
	return d
}

// valid tells whether a text is one JSON value.
func valid(text []byte) bool { return jsontext.Value(text).IsValid() }
