package api_test

import (
	"fmt"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/office"
	"doorward/kv/record"
)

// TestLongListsOfFaultsAreCut: one body may name a hundred thousand records that are not there.
func TestLongListsOfFaultsAreCut(t *testing.T) {
	w := newWorld(t)
	ids := strings.TrimSuffix(strings.Repeat("900,", 5000), ",")
	a := w.status(w.do("PATCH", adminPath(record.Person.Name, w.person), `{"role_ids":[`+ids+`]}`), 400)
	if len(a.body) > 10_000 {
		t.Errorf("5,000 roles that are not there: an answer of %d bytes", len(a.body))
	}
	query := strings.Repeat("church_id=900&", 1000)
	a = w.status(w.do("GET", "/v1/people/?"+query, "", invalid), 400)
	if got := a.text(t, "error.details.church_id.100"); got != "And 900 more." || a.value(t, "error.details.church_id.101") != nil {
		t.Errorf("the last of 1,000 faults = %q in %d bytes", got, len(a.body))
	}
}

// TestALaptopOfManyEventsIsListedInShort: a church may have thousands of events.
func TestALaptopOfManyEventsIsListedInShort(t *testing.T) {
	w := newWorld(t)
	level := auth.Level{Name: auth.EventOf}
	for range 50 {
		level.IDs = append(level.IDs, w.create(record.Event, `{"start_datetime":"2030-05-01T12:00:00Z"}`))
	}
	if _, _, _, err := w.store.Venues.Enrol(auth.Operator(), office.Enrolment{Name: "all", Level: level, Venue: auth.Venue{Names: true}}); err != nil {
		t.Fatal(err)
	}
	a := w.status(w.do("GET", "/admin/v1/venues/", ""), 200)
	if got := a.text(t, "results.0.scopes_more"); got != "51" || a.value(t, "results.0.scopes.99") == nil || a.value(t, "results.0.scopes.100") != nil {
		t.Errorf("%s scopes more: %s", got, fmt.Sprint(len(a.body)))
	}
}
