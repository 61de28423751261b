package kv_test

import (
	"fmt"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/value"
)

// A record's history tells who changed what, when and where, newest first.
func TestHistory(t *testing.T) {
	c, id, _ := torn(t)
	all, err := c.centre.Desk.History(auth.Operator(), target(record.Person, id), true)
	if err != nil || len(all) < 4 {
		t.Fatalf("History = %+v, %v, want four revisions or more", all, err)
	}
	winners, nodes := 0, map[string]bool{}
	for i, past := range all {
		if past.Winner {
			winners++
		}
		nodes[past.Node] = true
		if (past.Body != nil) != past.Held {
			t.Errorf("revision %s is held %t and shows %s", past.Revision, past.Held, past.Body)
		}
		if i > 0 && strings.Compare(all[i-1].Revision[:1], past.Revision[:1]) < 0 {
			t.Errorf("revision %s stands before %s", all[i-1].Revision, past.Revision)
		}
	}
	if winners != 1 || !nodes[c.centre.Tables.Node()] || !nodes[c.venue.Tables.Node()] {
		t.Errorf("History = %+v, want one winner, and both nodes", all)
	}
	first := all[len(all)-1]
	if value.Unquote([]byte(member(first.Body, "full_name"))) != "Ana" {
		t.Errorf("the first revision is %s, want Ana's", first.Body)
	}
	stranger := kvtest.Login(t, c.centre, "church:2", "admin:*")
	if _, err := c.centre.Desk.History(stranger, target(record.Person, id), false); kindOf(err) != "not found" {
		t.Errorf("to another church: %v, want not found", err)
	}
	event := kvtest.Create(t, c.centre, record.Event, `{"name":"E","start_datetime":"2026-11-22T19:00:00Z"}`)
	ticket := newTicket(t, c.centre, event, "CODE", `,"holder_name":"Ana"`)
	kinds := map[string]int{}
	all, err = c.centre.Desk.History(auth.Operator(), target(record.Ticket, ticket), false)
	for _, past := range all {
		kinds[past.Kind.Name]++
	}
	if err != nil || fmt.Sprint(kinds) != "map[holder:1 holder_name:1 ticket:1 ticket_code:1]" {
		t.Errorf("a ticket's history is of %v, %v", kinds, err)
	}
}
