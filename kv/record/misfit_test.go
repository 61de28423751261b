package record_test

import (
	"testing"

	"pgregory.net/rapid"

	"doorward/kv/record"
)

// TestWhatIsTakenFits: of whatever a request or a column of an import says, what is stored is of its field's type; so are the defaults
// and what doors write.
func TestWhatIsTakenFits(t *testing.T) {
	for _, k := range append([]*record.Kind{record.TicketForm}, record.Kinds()...) {
		if names := record.Misfits(k.NewDoc()); names != nil {
			t.Errorf("the defaults of a %s do not fit: %v", k.Name, names)
		}
	}
	draft := checkinDraft(noon)
	body, _ := draft.Close()
	if d, err := record.Checkin.Decode(body); err != nil || record.Misfits(d) != nil {
		t.Errorf("what a door writes does not fit: %v, %v", record.Misfits(d), err)
	}
	rapid.Check(t, func(t *rapid.T) {
		d, text := drawn(t)
		if names := record.Misfits(d); names != nil {
			t.Errorf("of %s %v do not fit", text, names)
		}
	})
}

// TestMoreThanThisVersionAllowsFits: a newer one may have longer texts, larger numbers and more choices.
func TestMoreThanThisVersionAllowsFits(t *testing.T) {
	for _, c := range []struct {
		kind       *record.Kind
		name, text string
		fits       bool
	}{
		{record.Person, "gender", `"another"`, true}, {record.Person, "rg", `"123456789012345678"`, true}, {record.Person, "email", `"ana"`, true},
		{record.Person, "gender", `1`, false}, {record.Person, "membership_number", `9007199254740991`, true},
		{record.Person, "membership_number", `9007199254740992`, false}, {record.Person, "membership_number", `1e2`, false},
		{record.Person, "membership_number", `123456789012345678901234567890`, false}, {record.Person, "membership_number", `"7"`, false},
		{record.Person, "birthday", `"2026-02-29"`, false}, {record.Person, "church_id", `0`, false}, {record.Person, "church_id", `-1`, false},
		{record.Person, "role_ids", `[1,2]`, true}, {record.Person, "role_ids", `[1,"2"]`, false}, {record.Person, "role_ids", `{"a":1}`, false},
		{record.Event, "start_datetime", `"2026-05-01T12:00:00.123456789Z"`, true}, {record.Event, "start_datetime", `"2026-05-01T12:00:00+02:00"`, false},
		{record.Event, "start_datetime", `"2026-05-01T12:00Z"`, false}, {record.Event, "start_datetime", `"2026-05-01 12:00:00Z"`, false},
		{record.Event, "location", `{"galaxy":"ours"}`, true}, {record.Event, "event_fees", `1e400`, false},
		{record.FinancialEntry, "penalty", `"-1234567890.00"`, true}, {record.FinancialEntry, "penalty", `"1.5"`, false},
		{record.FinancialEntry, "penalty", `"90071992547409.92"`, false}, {record.FinancialEntry, "penalty", `5`, false},
		{record.FinancialEntry, "attachments", `[{}]`, true}, {record.FinancialEntry, "attachments", `[{},1]`, false},
		{record.Undo, "checkin_id", `"01hzx3q0000000000000000abc"`, false}, {record.Undo, "hlc", `"018f9e2a3b4c000"`, false},
		{record.Undo, "hlc", `"018f9e2a3b4c000x"`, false}, {record.Undo, "flags", `["late"]`, true}, {record.Undo, "flags", `[7]`, false},
	} {
		d := c.kind.NewDoc()
		d.Set(c.name, []byte(c.text))
		if fits := record.Misfits(d) == nil; fits != c.fits {
			t.Errorf("%s.%s = %s fits: %v, want %v", c.kind.Name, c.name, c.text, fits, c.fits)
		}
	}
}
