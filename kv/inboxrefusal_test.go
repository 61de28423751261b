package kv_test

import (
	"fmt"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/inbox"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/rev"
)

// parted has a person whom the centre and a laptop know.
func parted(t testing.TB) (c joined, id int64, seen rev.ID) {
	t.Helper()
	c = newPair(t)
	id = kvtest.Create(t, c.centre, record.Person, `{"full_name":"Ana","church_id":1,"nationality":"Portuguese"}`)
	c.sync(t)
	tree := kv.TreeOf(t, c.centre, record.Person, id)
	return c, id, tree.Winner().Revision
}

// moves has the centre rename, complete and move a person.
func (c joined) moves(t testing.TB, id int64) {
	t.Helper()
	patched(t, c.centre, record.Person, id, `{"full_name":"Ana Souza","nationality":"Brazilian"}`)
	patched(t, c.centre, record.Person, id, `{"church_id":2}`)
}

// What is applied of a refused edit is the edit: what the centre has changed since it was made stays.
func TestApplyARefusalKeepsWhatTheCentreChanged(t *testing.T) {
	for name, edit := range map[string]func(joined, int64, rev.ID){
		"edits of a laptop": func(c joined, id int64, _ rev.ID) {
			patched(t, c.venue, record.Person, id, `{"occupation":"nurse"}`)
			patched(t, c.venue, record.Person, id, `{"email":"ana@example.org"}`)
			c.moves(t, id)
			c.sync(t)
		},
		"a new edit of a page, refused before": func(c joined, id int64, seen rev.ID) {
			key := kvtest.Login(t, c.centre, "church:1", "sync:*", "people:GET", "group:GET", "memberships:GET", "event:GET")
			w := merge.DocWrite{ID: record.Person.DocID(record.Int(id)), Parent: seen, Body: []byte(`{"full_name":"Ana",
				"church_id":1,"nationality":"Portuguese","occupation":"nurse","email":"ana@example.org"}`)}
			if _, err := opens(t, c.centre, key, "church-1").Write([]merge.DocWrite{w}); err != nil {
				t.Fatal(err)
			}
			c.moves(t, id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, id, seen := parted(t)
			edit(c, id, seen)
			page := matters(t, c.centre, auth.Operator(), record.Refusal)
			if len(page) != 1 {
				t.Fatalf("refusals = %v, want one", page)
			}
			if _, err := c.centre.Inbox.Resolve(auth.Operator(), inbox.Item{Kind: record.Refusal, ID: page[0].ID}, inbox.Choice{Other: true}); err != nil {
				t.Fatal(err)
			}
			r, err := c.centre.Desk.Retrieve(auth.Operator(), target(record.Person, id))
			got := ""
			for _, field := range []string{"full_name", "church_id", "nationality", "occupation", "email"} {
				got += member(r.JSON, field) + " "
			}
			if want := `"Ana Souza" 2 "Brazilian" "nurse" "ana@example.org" `; err != nil || got != want {
				t.Errorf("the person is %s, %v, want %s", got, err, want)
			}
			healthy(t, c.centre)
		})
	}
}

// A refused document comes again under as many of its ancestors as whoever brings it still knows: it is kept once.
func TestARefusalIsKeptOnceWhateverItsPath(t *testing.T) {
	c, id, seen := parted(t)
	c.moves(t, id)
	body := []byte(`{"full_name":"Ana","church_id":1}`)
	for _, path := range [][]rev.ID{{rev.Next(seen, false, body), seen}, {rev.Next(seen, false, body)}} {
		w := merge.DocWrite{ID: record.Person.DocID(record.Int(id)), Path: path, Body: body}
		if _, err := opens(t, c.centre, c.p, "church-1").Write([]merge.DocWrite{w}); err != nil {
			t.Fatal(err)
		}
	}
	page := matters(t, c.centre, auth.Operator(), record.Refusal)
	if len(page) != 1 {
		t.Fatalf("refusals = %v, want one", page)
	}
	want := fmt.Sprintf(`{"start":%d,"ids":[`, seen.Generation+1)
	if got := member([]byte(member(page[0].JSON, "doc")), "_revisions"); len(got) < len(want) || got[:len(want)] != want {
		t.Errorf("the path is %s, want %s…", got, want)
	}
}

// eventDatabases hold event 1 and its tickets.
var eventDatabases = []string{"church-1", "event-1", "event-1-names", "event-1-holders"}

// atOneEvent are a centre and a church's laptop that both have event 1.
func atOneEvent(t testing.TB) joined {
	t.Helper()
	c := newPair(t)
	kv.ShareCodeKey(t, c.centre, c.venue)
	c.p = enrolled(t, c.centre, "church:1", auth.Venue{Node: c.venue.Tables.Identity.Node(), Names: true})
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
		if refused := append(replicated(t, here, c.venue.Tables.Identity.Node(), there), replicated(t, there, c.centre.Tables.Identity.Node(), here)...); refused != nil {
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
		if _, err := c.centre.Inbox.Resolve(auth.Operator(), inbox.Item{Kind: record.Conflict, ID: page[0].ID}, inbox.Choice{Other: true}); err != nil {
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
		scanned(t, c.centre, auth.Operator(), door.Attempt{Event: 1, Code: "CODE", Door: "north"}, outcome.Admitted)
	}
}

// Where a part of a ticket is not held any more none of it comes back, and the edit stays on the list.
func TestATicketIsNotRestoredInPart(t *testing.T) {
	c, id := lostTicket(t, `{"email":"souza@example.org"}`)
	if err := kv.Forget(c.centre, record.TicketCode, id); err != nil {
		t.Fatal(err)
	}
	page := matters(t, c.centre, auth.Operator(), record.Conflict)
	if _, err := c.centre.Inbox.Resolve(auth.Operator(), inbox.Item{Kind: record.Conflict, ID: page[0].ID}, inbox.Choice{Other: true}); kindOf(err) != "conflict" {
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
	if _, err := c.centre.Inbox.Resolve(auth.Operator(), inbox.Item{Kind: record.Conflict, ID: page[0].ID}, inbox.Choice{Other: true}); err != nil {
		t.Fatal(err)
	}
	if name, _ := agrees(t, c.centre, id); name != "Eva Ferreira" {
		t.Errorf("the name is %s, want Eva Ferreira", name)
	}
}
