package kv_test

import (
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/inbox"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// eventDatabases hold event 1 and its tickets.
var eventDatabases = []string{"church-1", "event-1", "event-1-names", "event-1-holders"}

// atOneEvent are a centre and a church's laptop that both have event 1.
func atOneEvent(t testing.TB) joined {
	t.Helper()
	c := newPair(t)
	kv.ShareCodeKey(t, c.centre, c.venue)
	c.p = enrolled(t, c.centre, "church:1", auth.Venue{Node: c.venue.Tables.Node(), Names: true})
	c.exchange(t)
	return c
}

// exchange is sync of databases in an order; none: of event 1.
func (c joined) exchange(t testing.TB, names ...string) {
	t.Helper()
	if names == nil {
		names = eventDatabases
	}
	for _, name := range names {
		there, here := opens(t, c.centre, c.p, name), opens(t, c.venue, auth.Operator(), name)
		if refused := append(replicated(t, here, c.venue.Tables.Node(), there), replicated(t, there, c.centre.Tables.Node(), here)...); refused != nil {
			t.Errorf("%s: refused %v", name, refused)
		}
	}
}

// lostTicket has the centre delete a ticket while the laptop changes it.
func lostTicket(t testing.TB, edit string) (c joined, id int64) {
	t.Helper()
	c = atOneEvent(t)
	id = newTicket(t, c.centre, 1, "CODE", `,"holder_name":"Ana Souza","phone":"11 987654321","email":"ana@example.org"`)
	c.exchange(t)
	if err := c.centre.Desk.Delete(auth.Operator(), target(record.Ticket, id)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.venue.Desk.Update(auth.Operator(), target(record.Ticket, id), kvtest.Parse(t, record.TicketForm, edit, false)); err != nil {
		t.Fatal(err)
	}
	c.exchange(t)
	return c, id
}

// ticketMembers are some of a ticket's members, "" for none.
func ticketMembers(t testing.TB, s *kv.Store, id int64) (all string) {
	t.Helper()
	r, err := s.Desk.Retrieve(auth.Operator(), target(record.Ticket, id))
	if err != nil {
		return kindOf(err)
	}
	for _, name := range []string{"code", "type", "label", "holder_name", "email", "phone"} {
		all += member(r.JSON, name) + " "
	}
	return all
}

// A ticket is restored as a whole, whichever of its parts the edit that was listed is of.
func TestRestoreATicket(t *testing.T) {
	for edit, want := range map[string]string{
		`{"type":"Adult"}`:               `"CODE" "Adult" "Ana S." "Ana Souza" "ana@example.org" "11 987654321" `,
		`{"email":"souza@example.org"}`:  `"CODE" null "Ana S." "Ana Souza" "souza@example.org" "11 987654321" `,
		`{"holder_name":"Eva Ferreira"}`: `"CODE" null "Eva F." "Eva Ferreira" "ana@example.org" "11 987654321" `,
		`{"phone":"11 911112222"}`:       `"CODE" null "Ana S." "Ana Souza" "ana@example.org" "11 911112222" `,
	} {
		c, id := lostTicket(t, edit)
		page := matters(t, c.centre, auth.Operator(), record.Conflict)
		if err := c.centre.Inbox.ResolveConflict(auth.Operator(), page[0].ID, inbox.Choice{Other: true}); err != nil {
			t.Errorf("%s: %v", edit, err)
		}
		c.exchange(t)
		for _, s := range []*kv.Store{c.centre, c.venue} {
			if got := ticketMembers(t, s, id); got != want {
				t.Errorf("%s: the ticket is %s, want %s", edit, got, want)
			}
			healthy(t, s)
		}
		if left := matters(t, c.centre, auth.Operator(), record.Conflict); len(left) != 0 {
			t.Errorf("%s: there is left %s", edit, left[0].JSON)
		}
		scanned(t, c.centre, auth.Operator(), door.Attempt{Event: 1, Code: "CODE", Door: "north"}, table.Admitted)
	}
}

// Where a part of a ticket is not held any more none of it comes back, and the edit stays on the list.
func TestATicketIsNotRestoredInPart(t *testing.T) {
	c, id := lostTicket(t, `{"email":"souza@example.org"}`)
	if err := kv.Forget(c.centre, record.TicketCode, id); err != nil {
		t.Fatal(err)
	}
	page := matters(t, c.centre, auth.Operator(), record.Conflict)
	if err := c.centre.Inbox.ResolveConflict(auth.Operator(), page[0].ID, inbox.Choice{Other: true}); kindOf(err) != "conflict" {
		t.Errorf("restore: %v, want conflict", err)
	}
	if left := matters(t, c.centre, auth.Operator(), record.Conflict); len(left) != len(page) {
		t.Errorf("%d conflicts are left, want %d", len(left), len(page))
	}
	for _, k := range []*record.Kind{record.Ticket, record.TicketCode, record.HolderName, record.Holder} {
		if ids := liveIDs(t, c.centre, k); len(ids) != 0 {
			t.Errorf("there is %s %v, want none", k.Name, ids)
		}
	}
}

// The parts of a restored ticket may be of different times: the label is that of the name which is there again.
func TestTheLabelOfARestoredTicket(t *testing.T) {
	c := atOneEvent(t)
	id := newTicket(t, c.centre, 1, "CODE", `,"holder_name":"Ana Souza"`)
	c.exchange(t)
	for s, edit := range map[*kv.Store]string{c.centre: `{"holder_name":"Eva Ferreira"}`, c.venue: `{"type":"Adult"}`} {
		if _, err := s.Desk.Update(auth.Operator(), target(record.Ticket, id), kvtest.Parse(t, record.TicketForm, edit, false)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.centre.Desk.Delete(auth.Operator(), target(record.Ticket, id)); err != nil {
		t.Fatal(err)
	}
	c.exchange(t)
	page := matters(t, c.centre, auth.Operator(), record.Conflict)
	if len(page) != 1 {
		t.Fatalf("conflicts = %v, want one", page)
	}
	if err := c.centre.Inbox.ResolveConflict(auth.Operator(), page[0].ID, inbox.Choice{Other: true}); err != nil {
		t.Fatal(err)
	}
	if name, _ := agrees(t, c.centre, id); name != "Eva Ferreira" {
		t.Errorf("the name is %s, want Eva Ferreira", name)
	}
}
