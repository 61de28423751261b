package office_test

import (
	"slices"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/record"
)

// TestAlong_Takes: what a laptop takes along, by its enrolment. Each row is a kind in a database.
func TestAlong_Takes(t *testing.T) {
	s := kvtest.Open(t)
	for _, name := range []string{"Central", "North"} {
		kvtest.Create(t, s, record.Church, `{"name":"`+name+`"}`)
	}
	for _, church := range []string{"1", "1", "2", "null"} {
		kvtest.Create(t, s, record.Event, `{"name":"Feast","start_datetime":"2030-01-01T19:00:00Z","church_id":`+church+`}`)
	}
	level := func(text string) auth.Level {
		l, err := auth.ParseLevel(text)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	enrolments := []struct {
		name string
		office.Enrolment
	}{
		{"event", office.Enrolment{Level: level("event:1"), Venue: auth.Venue{Names: true}}},
		{"event, labels", office.Enrolment{Level: level("event:1")}},
		{"event of no church", office.Enrolment{Level: level("event:4"), Venue: auth.Venue{Names: true}}},
		{"church", office.Enrolment{Level: level("church:1"), Venue: auth.Venue{Names: true}}},
		{"church, labels", office.Enrolment{Level: level("church:1")}},
		{"church, finance", office.Enrolment{Level: level("church:1"), Venue: auth.Venue{Names: true, Finance: true}}},
		{"church, event 2", office.Enrolment{Level: level("church:1"), Events: []int64{2}, Venue: auth.Venue{Names: true}}},
		{"mirror", office.Enrolment{Level: level("denomination"), Venue: auth.Venue{Names: true, Mirror: true}}},
	}
	const (
		churches = "church|church, labels|church, finance|church, event 2|mirror"
		ofFirst  = "event|event, labels|church|church, labels|church, finance|mirror"
	)
	rows := []struct {
		kind *record.Kind
		in   string
		by   string // the enrolments that take it
	}{
		{record.Church, "reference", "event|event, labels|event of no church|" + churches},
		{record.Group, "reference", churches},
		{record.Event, "reference", churches},
		{record.FinancialAccount, "reference-finance", churches},
		{record.Person, "church-1", churches},
		{record.Group, "church-1", churches},
		{record.Membership, "church-1", churches},
		{record.Event, "church-1", churches},
		{record.FinancialEntry, "church-1-finance", "church, finance|mirror"},
		{record.Person, "church-2", "mirror"},
		{record.FinancialEntry, "church-2-finance", "mirror"},
		{record.Person, "records", "mirror"}, // of no church
		{record.Event, "event-1", ofFirst},
		{record.Ticket, "event-1", ofFirst},
		{record.Checkin, "event-1", ofFirst},
		{record.HolderName, "event-1-names", "event|church|church, finance|mirror"},
		{record.HolderLabel, "event-1-labels", "event, labels|church, labels|mirror"},
		{record.Holder, "event-1-holders", "church|church, labels|church, finance|mirror"},
		{record.TicketCode, "event-1-holders", "church|church, labels|church, finance|mirror"},
		{record.HolderName, "event-1-holders", "church|church, labels|church, finance|mirror"}, // a holding that is over
		{record.Ticket, "event-2", "church|church, labels|church, finance|church, event 2|mirror"},
		{record.Ticket, "event-3", "mirror"},
		{record.HolderName, "event-3-names", "mirror"},
		{record.Ticket, "event-4", "event of no church|mirror"},
		{nil, "event-1", ofFirst}, // a kind of a later version
		{nil, "reference", churches},
		// The server's own records, and what claims to be where such a record cannot be.
		{record.APIKey, "_system", ""},
		{record.APIKey, "event-1", ""},
		{record.APIKey, "records", ""},
		{record.Node, "_system", ""},
		{record.Erasure, "_system", ""},
		{record.Erasure, "event-1", ""},
		{record.Conflict, "_system", ""},
		{record.Refusal, "records", ""},
		{record.Person, "event-1", ""},
		{record.HolderName, "event-1", ""},
		{record.Ticket, "notes", ""},
		{record.Ticket, "", ""},
	}
	takes := map[string]office.Along{}
	for _, e := range enrolments {
		e.Name = e.name
		id, _, _, err := s.Venues.Enrol(auth.Operator(), e.Enrolment)
		if err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		if takes[e.name], err = s.Venues.AlongOf(auth.Operator(), id); err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
	}
	for _, row := range rows {
		kind := "an unknown kind"
		if row.kind != nil {
			kind = row.kind.Name
		}
		for _, e := range enrolments {
			want := slices.Contains(strings.Split(row.by, "|"), e.name)
			if got := takes[e.name].Takes(row.kind, row.in); got != want {
				t.Errorf("%s: takes %s in %q = %t, want %t", e.name, kind, row.in, got, want)
			}
		}
	}
}
