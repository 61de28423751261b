package kv_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
)

// TestWhatGivesWay: of what a laptop has made of a ticket, what its centre lacks, as far as the rest can be shown.
func TestWhatGivesWay(t *testing.T) {
	for name, try := range map[string]struct {
		edits, has int // how many edits were made, and how many of the revisions the centre has
		shown      int // the last edit that is shown then; 0 = none
	}{
		"a new one":            {0, 0, 0},
		"an edit":              {1, 1, 0},
		"three of five":        {5, 3, 2},
		"all of an unknown":    {3, 0, 3},
		"what has no body any": {40, 1, 40},
	} {
		t.Run(name, func(t *testing.T) {
			s := twoChurches(t)
			u := table.Upstream{URL: "http://centre.example", Node: anotherNode, Epoch: "known", Key: "key", Pushes: []string{"event-1", "event-1-names", "event-1-holders"}}
			if err := s.Laptop.Join(auth.Operator(), u, office.Credential{Realm: s.Tables.Identity.Realm()}); err != nil {
				t.Fatal(err)
			}
			id := kvtest.Create(t, s, record.Ticket, `{"event_id":1,"code":"A","order":"0"}`)
			for n := range try.edits {
				patched(t, s, record.Ticket, id, fmt.Sprintf(`{"order":"%d"}`, n+1))
			}
			db := opens(t, s, auth.Operator(), "event-1")
			name := record.Ticket.DocID(record.Int(id))
			doc, err := db.Read(name, docs.Ask{})
			if err != nil {
				t.Fatal(err)
			}
			path := doc.Tree.Path(doc.Tree.Winner().Revision)
			lacking := []merge.Revs{{ID: name, Revisions: slices.Clone(path[:len(path)-try.has])}}
			if err := s.Laptop.TakeBack(kvtest.Login(t, s, "event:1", "*:*"), lacking); kindOf(err) != "forbidden" {
				t.Errorf("TakeBack for a door = %v, want forbidden", err)
			}
			for range 2 { // the second finds nothing to do
				if err := s.Laptop.TakeBack(auth.Operator(), lacking); err != nil {
					t.Fatal(err)
				}
			}
			r, err := s.Desk.Retrieve(auth.Operator(), target(record.Ticket, id))
			if want := fmt.Sprintf(`"order":"%d"`, try.shown); err != nil || !strings.Contains(string(r.JSON), want) {
				t.Errorf("the ticket is %s, %v, want %s", r.JSON, err, want)
			}
			healthy(t, s)
		})
	}
}
