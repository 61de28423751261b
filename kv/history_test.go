package kv_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
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
	if winners != 1 || !nodes[c.centre.Tables.Identity.Node()] || !nodes[c.venue.Tables.Identity.Node()] {
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

// A record of which there is only what was written here has no tree of its own; one that was changed remembers each change.
func TestATreeRemembersWhoChangedWhat(t *testing.T) {
	s, clock := opened(t)
	id := kvtest.Create(t, s, record.Role, `{"name":"Usher"}`)
	if rows := kv.Rows(t, s, "tree"); rows != 0 {
		t.Errorf("a record of one revision has %d trees in the store, want none", rows)
	}
	first := clock.Now()
	clock.Move(1e9)
	patched(t, s, record.Role, id, `{"name":"Steward"}`)
	tree := kv.TreeOf(t, s, record.Role, id)
	nodes := tree.Nodes()
	if tree.Len() != 2 || nodes[1].Parent != nodes[0].Revision || !nodes[0].Held || !nodes[1].Held {
		t.Fatalf("nodes = %+v, want two in line whose bodies are held", nodes)
	}
	if nodes[0].At != first.UnixMicro() || nodes[1].At != clock.Now().UnixMicro() || !slices.Equal(nodes[1].Fields, []string{"name"}) {
		t.Errorf("nodes = %+v, want the times and the field name", nodes)
	}
	healthy(t, s)
}

// The bodies of the last ten revisions are kept, and the names of the last fifty.
func TestATreeForgetsWhatIsLongAgo(t *testing.T) {
	s, _ := opened(t)
	id := kvtest.Create(t, s, record.Role, `{"name":"0"}`)
	for i := range 60 {
		patched(t, s, record.Role, id, fmt.Sprintf(`{"name":"%d"}`, i+1))
	}
	if tree := kv.TreeOf(t, s, record.Role, id); tree.Len() != table.RevsLimit {
		t.Errorf("the tree knows %d revisions, want %d", tree.Len(), table.RevsLimit)
	}
	if n := kv.Rows(t, s, "body"); n != 9 {
		t.Errorf("%d bodies are kept beside the present one, want 9", n)
	}
	healthy(t, s)
	if err := s.Desk.Delete(auth.Operator(), target(record.Role, id)); err != nil {
		t.Fatal(err)
	}
	if n := kv.Rows(t, s, "body"); n != 9 {
		t.Errorf("%d bodies are kept of a deleted record, want 9", n)
	}
	healthy(t, s)
	if err := kv.Forget(s, record.Role, id); err != nil {
		t.Fatal(err)
	}
	if kv.Rows(t, s, "body")+kv.Rows(t, s, "tree") != 0 {
		t.Error("something is kept of a forgotten record")
	}
}

// Facts have one revision for ever, and no tree.
func TestFactsHaveNoTree(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, "")
	newTicket(t, s, event, "CODE", "")
	before := kv.Rows(t, s, "tree")
	d := scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "CODE"}, outcome.Admitted)
	if _, err := s.Door.Undo(auth.Operator(), door.Undoing{Event: event, CheckinID: d.CheckinID}); err != nil {
		t.Fatal(err)
	}
	if kv.Rows(t, s, "tree") != before {
		t.Error("a fact has a tree")
	}
}
