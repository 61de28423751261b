package screen

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestAStatusCountsGuestsThatAreInside where they leave and come back or come each day, and elsewhere check-ins with the guests whom a phone let in.
func TestAStatusCountsGuestsThatAreInside(t *testing.T) {
	var o Overview
	answer := `{"events":[{"id":1,"name":"Camp","expected":200,"admitted":1631,"inside":147,"reentry":true},{"id":2,"name":"Sunday","expected":50,"admitted":31,"inside":30},
		{"id":3,"name":"Week","expected":9,"admitted":16,"inside":7,"daily":true,"let_in":1,"double_entries":4}]}`
	if err := json.Unmarshal([]byte(answer), &o); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(Text(o, "data", time.UTC)), " ")
	for _, want := range []string{"1 Camp 147 200", "2 Sunday 31 50", "3 Week 7 9 3"} {
		if !strings.Contains(text, want) {
			t.Errorf("the screen does not say %q: %s", want, text)
		}
	}
}

// TestAStatusFitsOnAScreen prints the overview of a centre where everything is in trouble, with the longest names that there can be and
// some that would do something to a terminal.
func TestAStatusFitsOnAScreen(t *testing.T) {
	long := strings.Repeat("Überlänge ", 25)
	rude := "\x1b[2J\u202e\r\n\tSide" + long
	list := func(n int, one string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]"
	}
	quoted := func(text string) string {
		b, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	at := `"2026-11-22T19:00:00Z"`
	door := fmt.Sprintf(`{"name":%s,"admitted":1234567,"last_scan":%s,"silent":true}`, quoted(rude), at)
	event := fmt.Sprintf(`{"id":9007199254740991,"name":%s,"start_datetime":%s,"expected":1000000,"admitted":1000000,"double_entries":99999,"doors":%s,"doors_count":200}`, quoted(rude), at, list(100, door))
	laptop := fmt.Sprintf(`{"id":1,"name":%s,"last_contact":%s,"backlog":123456,"clock_offset_ms":-900000000000,"version":%s,"needs":["laptop_clock","laptop_backlog","laptop_credential"],"joined_at":%s}`,
		quoted(rude), at, quoted(long), at)
	need := fmt.Sprintf(`{"text":%s,"command":["venue","wipe",%s],"on":%s,"see":null}`, quoted("The clock of "+rude), quoted(rude), quoted(rude))
	counts := `{"person":1000000,"group":1000000,"membership":1000000,"financial_entry":1000000,"event":1000000,"ticket":1000000,"checkin":1000000,"scan":1000000,"undo":1000000}`
	answer := fmt.Sprintf(`{"at":%s,"version":%s,"role":"centre","needs":%s,"needs_count":150,"events":%s,"events_count":500,"laptops":%s,"laptops_count":120,
		"centre":{"url":%s,"name":%s,"backlog":123456,"events":[1,2,3],"drops":%s,"credential_expires_at":%s},"keys":[{"name":%s,"level":%s,"expires_at":%s}],
		"records":%s,"tickets":{"valid":1},"clock":{"doubted":true}}`,
		at, quoted(long), list(100, need), list(100, event), list(100, laptop), quoted(long), quoted(rude), list(20, `{"event_id":1,"at":`+at+`}`), at, quoted(rude), quoted(rude), at, counts)
	var o Overview
	if err := json.Unmarshal([]byte(answer), &o); err != nil {
		t.Fatal(err)
	}
	text := Text(o, "data", time.UTC)
	lines := strings.Split(text, "\n")
	if len(lines) > Lines {
		t.Errorf("%d lines, want %d at most:\n%s", len(lines), Lines, text)
	}
	for _, l := range lines {
		if utf8.RuneCountInString(l) > Width && !strings.HasPrefix(l, "    > ") { // a command is whole
			t.Errorf("a line of %d characters: %s", utf8.RuneCountInString(l), l)
		}
		if strings.ContainsAny(l, "\x1b\u202e\r\t") {
			t.Errorf("a line does something to a terminal: %q", l)
		}
	}
	for _, want := range []string{"NEEDS A PERSON (150)", "and 114 more: --json names them", "and 497 more"} {
		if !strings.Contains(text, want) {
			t.Errorf("the screen does not say %q:\n%s", want, text)
		}
	}
}
