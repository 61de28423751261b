package kv_test

import (
	"fmt"
	"testing"

	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
)

// TestALaptopRefersToWhatItSees: a document that names a record out of the laptop's sight is refused by itself and kept for staff. Names that the
// record has already stay, and what the laptop may still bring may be named before it comes.
func TestALaptopRefersToWhatItSees(t *testing.T) {
	s := twoChurches(t)
	own, foreign := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`), kvtest.Create(t, s, record.Person, `{"full_name":"Bia","church_id":2}`)
	deleted := kvtest.Create(t, s, record.Person, `{"full_name":"Caio","church_id":1}`)
	if err := s.Desk.Delete(auth.Operator(), target(record.Person, deleted)); err != nil {
		t.Fatal(err)
	}
	groups := map[string]int64{}
	for name, church := range map[string]string{"own": "1", "foreign": "2", "shared": "null"} {
		groups[name] = kvtest.Create(t, s, record.Group, fmt.Sprintf(`{"name":%q,"church_id":%s}`, name, church))
	}
	account, supplier := kvtest.Create(t, s, record.FinancialAccount, `{"name":"Bank"}`), kvtest.Create(t, s, record.Supplier, `{"name":"Mill"}`)
	ticket := newTicket(t, s, 1, "OWN", "")
	theirs := newTicket(t, s, 2, "THEIRS", "")
	moved := newTicket(t, s, 1, "MOVED", "")
	if _, err := s.Desk.Update(auth.Operator(), target(record.Ticket, moved), kvtest.Parse(t, record.TicketForm, `{"event_id":2}`, false)); err != nil {
		t.Fatal(err)
	}
	node := ulid.Make()
	p := enrolled(t, s, "church:1", auth.Venue{Node: node.String(), Names: true, Finance: true})
	person := func(id int64) string { return fmt.Sprintf(`"event_id":1,"ticket_id":%d,"person_id":%d`, ticket, id) }
	refused := 0
	for _, c := range []struct {
		name, db string
		k        *record.Kind
		body     string
		want     string
	}{
		{"a holder linked with a person of the church", "event-1-holders", record.Holder, person(own), "ok"},
		{"a holder linked with a person of another church", "event-1-holders", record.Holder, person(foreign), "forbidden"},
		{"a holder that was linked with one", "event-1-holders", record.Holder, person(own) + fmt.Sprintf(`,"persons":[%d,%d]`, own, foreign), "forbidden"},
		{"a holder linked with a person that was deleted meanwhile", "event-1-holders", record.Holder, person(deleted), "ok"},
		{"a holder linked with a person that the laptop may bring", "event-1-holders", record.Holder, person(record.FirstDrawn + 7), "ok"},
		{"a holder linked with the next person that is made", "event-1-holders", record.Holder, person(deleted + 1), "forbidden"},
		{"a holder of a ticket of another church's event", "event-1-holders", record.Holder, fmt.Sprintf(`"event_id":1,"ticket_id":%d`, theirs), "forbidden"},
		{"a holder of a ticket that has left the event", "event-1-holders", record.Holder, fmt.Sprintf(`"event_id":1,"ticket_id":%d`, moved), "ok"},
		{"a name of a ticket that is not here yet", "event-1-names", record.HolderName, `"event_id":1,"ticket_id":900`, "ok"},
		{"a membership of a group of the church", "church-1", record.Membership, fmt.Sprintf(`"person":%d,"group_id":%d`, own, groups["own"]), "ok"},
		{"a membership of everybody's group", "church-1", record.Membership, fmt.Sprintf(`"person":%d,"group_id":%d`, own, groups["shared"]), "ok"},
		{"a membership of another church's group", "church-1", record.Membership, fmt.Sprintf(`"person":%d,"group_id":%d`, own, groups["foreign"]), "forbidden"},
		{"a membership of another church's person", "church-1", record.Membership, fmt.Sprintf(`"person":%d,"group_id":%d`, foreign, groups["own"]), "forbidden"},
		{"a person of another church", "church-1", record.Person, `"full_name":"Rui","church_id":2`, "forbidden"},
		{"an entry with its account", "church-1-finance", record.FinancialEntry,
			fmt.Sprintf(`"church_id":1,"transaction_type":"income","financial_account_id":%d,"supplier_id":%d`, account, supplier), "ok"},
		{"an entry with an account that is not there", "church-1-finance", record.FinancialEntry,
			fmt.Sprintf(`"church_id":1,"transaction_type":"income","financial_account_id":%d,"supplier_id":%d`, account+1, supplier), "forbidden"},
		{"a check-in of a ticket of another church's event", "event-1", record.Checkin,
			fmt.Sprintf(`"event_id":1,"node":%q,"hlc":"019000000000ffff","at":"2026-11-22T19:00:00Z","ticket_id":%d`, node, theirs), "ok"},
	} {
		id := c.k.DocID(record.FromULID(ulid.Make()))
		if !c.k.ULID {
			id = drawnDoc(c.k, int64(100+refused+len(c.name)))
		}
		w := merge.DocWrite{ID: id, Path: chain("a"), Body: []byte("{" + c.body + "}"), Author: merge.Author{Node: node}}
		err := push(t, opens(t, s, p, c.db), w)
		if got := kindOf(err); got != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if c.want == "forbidden" {
			refused++
		}
		if n := kv.Rows(t, s, "kind:refusal"); n != refused {
			t.Fatalf("%s: %d refusals are kept for staff, want %d", c.name, n, refused)
		}
	}
	healthy(t, s)
}

// TestALaptopKeepsWhatTheCentreLinked: the centre linked a holder with a person that the laptop does not see. The laptop changes the e-mail.
func TestALaptopKeepsWhatTheCentreLinked(t *testing.T) {
	s := twoChurches(t)
	foreign := kvtest.Create(t, s, record.Person, `{"full_name":"Bia","church_id":2}`)
	ticket := newTicket(t, s, 1, "K1", fmt.Sprintf(`,"holder_name":"Bia","person_id":%d`, foreign))
	p := enrolled(t, s, "church:1", auth.Venue{Names: true})
	db := opens(t, s, p, "event-1-holders")
	holder := kv.Present(t, s, ticket)
	tree := kv.TreeOfID(t, s, record.Holder, holder)
	first := tree.Winner().Revision
	body := fmt.Sprintf(`{"event_id":1,"ticket_id":%d,"person_id":%d,"persons":[%d],"email":"bia@example.org"}`, ticket, foreign, foreign)
	id := record.Holder.DocID(holder)
	w := merge.DocWrite{ID: id, Path: []rev.ID{{Generation: first.Generation + 1, Hash: [16]byte{'b'}}, first}, Body: []byte(body)}
	if err := push(t, db, w); err != nil {
		t.Errorf("a change of the e-mail = %v", err)
	}
	if _, err := s.Desk.Update(auth.Operator(), target(record.Ticket, ticket), kvtest.Parse(t, record.TicketForm, `{"person_id":null}`, false)); err != nil {
		t.Fatal(err)
	}
	w.Path = []rev.ID{{Generation: first.Generation + 1, Hash: [16]byte{'c'}}, first} // made before the laptop heard of it
	if err := push(t, db, w); err != nil {
		t.Errorf("a late change of the e-mail = %v", err)
	}
	healthy(t, s)
}
