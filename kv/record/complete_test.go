package record_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"doorward/kv/record"
)

// TestOfWhatIsTakenNothingLacks: so nothing that one of our own servers has written is refused or made again.
func TestOfWhatIsTakenNothingLacks(t *testing.T) {
	draft := checkinDraft(noon)
	body, _ := draft.Close()
	fact, err := record.Checkin.Decode(body)
	if err != nil || record.Missing(fact) != nil || fact.Complete(record.Moment{Now: noon}) {
		t.Errorf("what a door writes lacks something: %v, %v", record.Missing(fact), err)
	}
	rapid.Check(t, func(t *rapid.T) {
		d, text := drawn(t)
		if names := record.Missing(d); names != nil {
			t.Errorf("of %s %v are missing", text, names)
		}
		was := d.Canonical()
		if d.Complete(record.Moment{Now: noon.AddDate(1, 0, 0)}) || string(d.Canonical()) != string(was) {
			t.Errorf("%s lacked something:\n%s", text, cmp.Diff(string(was), string(d.Canonical())))
		}
	})
}

// TestCompleteGivesWhatLacks: and leaves what a newer version has besides.
func TestCompleteGivesWhatLacks(t *testing.T) {
	const rest = `"country":null,"state":null,"city":null,"zip_code":null,"address":null,"address_number":null,` +
		`"address_complement":null,"neighborhood":null,"latitude":null`
	for _, c := range []struct {
		kind              *record.Kind
		name, given, want string
		lacked            bool
	}{
		{record.Person, "is_active", `null`, `true`, true}, {record.Person, "full_name", `null`, `""`, true},
		{record.Person, "role_ids", `null`, `[]`, true}, {record.Person, "created_at", `null`, `"2026-05-01T12:00:00Z"`, true},
		{record.Person, "profile_change_date", `null`, `"2026-05-01"`, true}, {record.Person, "email", `null`, `null`, false},
		{record.Person, "location", `null`, `null`, false}, {record.Person, "location", `{}`, `{}`, false},
		{record.Event, "end_datetime", `null`, `"2026-11-22T19:00:00Z"`, true}, {record.Event, "issued_tickets", `null`, `null`, false},
		{record.Event, "location", `null`, `{` + rest + `,"longitude":null}`, true},
		{record.Event, "location", `{"galaxy":"ours","longitude":5}`, `{"galaxy":"ours","longitude":5,` + rest + `}`, true},
		{record.Event, "location", `{"longitude":5,` + rest + `}`, `{"longitude":5,` + rest + `}`, false},
		{record.FinancialEntry, "penalty", `null`, `"0.00"`, true}, {record.FinancialEntry, "is_paid", `null`, `false`, true},
		{record.FinancialEntry, "attachments", `null`, `[]`, true},
		{record.FinancialEntry, "attachments", `[{"pages":2}]`,
			`[{"pages":2,"id":null,"name":null,"content_type":null,"size":null,"url":null,"created_at":null}]`, true},
		{record.Checkin, "direction", `null`, `"in"`, true}, {record.Checkin, "flags", `null`, `[]`, true},
	} {
		d := settled(t, c.kind, `{}`)
		if c.kind == record.Event {
			d = settled(t, c.kind, `{"start_datetime":"2026-11-22T19:00:00Z"}`)
		}
		d.Set(c.name, []byte(c.given))
		lacked := d.Complete(record.Moment{Now: noon})
		if is := string(d.Value(c.name)); is != c.want || lacked != c.lacked {
			t.Errorf("%s.%s = %s was made %s, lacked %v, want %s, %v", c.kind.Name, c.name, c.given, is, lacked, c.want, c.lacked)
		}
	}
}
