package kv_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
)

// drawnDoc is a document under an id that clients draw for themselves.
func drawnDoc(k *record.Kind, n int64) string { return k.DocID(idDrawn(k, n)) }

// idDrawn is the id of drawnDoc.
func idDrawn(k *record.Kind, n int64) record.ID {
	if !k.ULID {
		return record.Int(record.FirstDrawn + n)
	}
	var u ulid.ULID
	binary.BigEndian.PutUint64(u[8:], uint64(n))
	return record.FromULID(u)
}

// push writes one revision and answers what became of it.
func push(t testing.TB, db *docs.Database, w merge.DocWrite) error {
	t.Helper()
	results, err := db.Write([]merge.DocWrite{w})
	if err != nil {
		t.Fatalf("write %s: %v", w.ID, err)
	}
	return results[0].Err
}

// onTop is the path of a revision upon the present one, with its body where members have other values.
func onTop(t testing.TB, db *docs.Database, id, old, is string) merge.DocWrite {
	t.Helper()
	doc, err := db.Read(id, docs.Ask{})
	if err != nil {
		t.Fatalf("read %s: %v", id, err)
	}
	revision := doc.Revisions[0].Revision
	body := replacedOnce(t, string(doc.Revisions[0].Body), old, is)
	return merge.DocWrite{ID: id, Path: []rev.ID{{Generation: revision.Generation + 1, Hash: [16]byte(ulid.Make())}, revision}, Body: []byte(body)}
}

func replacedOnce(t testing.TB, text, old, is string) string {
	t.Helper()
	i := len(text) - 1
	for i >= 0 && (len(text[i:]) < len(old) || text[i:i+len(old)] != old) {
		i--
	}
	if i < 0 {
		t.Fatalf("%s does not hold %s", text, old)
	}
	return text[:i] + is + text[i+len(old):]
}

// What a key that is no laptop's pushes passes the validation of /v1, each document by itself.
func TestKeysPushWhatV1Takes(t *testing.T) {
	s := twoChurches(t)
	person := record.Person.DocID(record.Int(kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)))
	other := kvtest.Create(t, s, record.Person, `{"full_name":"Rui","church_id":2}`)
	kvtest.Create(t, s, record.Group, `{"name":"Choir","church_id":1}`)
	newTicket(t, s, 1, "CODE", "")
	key := kvtest.Login(t, s, "church:1", "*:*")
	reader := kvtest.Login(t, s, "church:1", "sync:*", "people:GET", "group:GET", "memberships:GET", "event:GET")
	kvtest.Create(t, s, record.FinancialAccount, `{"name":"Cash"}`)
	kvtest.Create(t, s, record.Supplier, `{"name":"X"}`)
	money := record.FinancialEntry.DocID(record.Int(kvtest.Create(t, s, record.FinancialEntry, `{"church_id":1,"financial_account_id":1,"supplier_id":1,"transaction_type":"income","base_amount":"1.00"}`)))
	cashier := opens(t, s, kvtest.Login(t, s, "church:1", "*:GET", "*:POST", "*:PATCH"), "church-1-finance")
	leased, err := s.Venues.Lease(kvtest.Login(t, s, "church:1", "*:*"), record.Person, 9, "")
	if err != nil {
		t.Fatal(err)
	}
	db := opens(t, s, key, "church-1")
	edit := func(old, is string) merge.DocWrite { return onTop(t, db, person, old, is) }
	for _, c := range []struct {
		name, want string
		db         *docs.Database
		w          merge.DocWrite
	}{
		{"a new name", "ok", db, edit(`"Ana"`, `"Ana Souza"`)},
		{"a name that is too long", "forbidden", db, edit(`"Ana`, `"`+fmt.Sprintf("%0300d", 1))},
		{"a read-only field", "forbidden", db, edit(`"created_at":"`, `"created_at":"1`)},
		{"an unknown field", "forbidden", db, edit(`{"`, `{"a_newer_field":1,"`)},
		{"a move to a church that is not its own", "forbidden", db, edit(`"church_id":1`, `"church_id":2`)},
		{"a key that only reads", "forbidden", opens(t, s, reader, "church-1"), edit(`"Ana`, `"Eva`)},
		{"a deletion, which /v1 does not offer", "forbidden", db, deletion(edit(`{`, `{`))},
		{"a deletion by a key that may not delete", "forbidden", cashier, deletion(onTop(t, cashier, money, `{`, `{`))},
		{"a deletion that /v1 offers", "ok", opens(t, s, key, "church-1-finance"), deletion(onTop(t, cashier, money, `{`, `{`))},
		{"a new person", "ok", db, merge.DocWrite{ID: drawnDoc(record.Person, 1), Path: chain("a"), Body: []byte(`{"full_name":"New","church_id":1}`)}},
		{"a new person of another church", "forbidden", db, merge.DocWrite{ID: drawnDoc(record.Person, 2), Path: chain("a"), Body: []byte(`{"full_name":"New","church_id":2}`)}},
		{"an entry without an account", "forbidden", opens(t, s, key, "church-1-finance"), merge.DocWrite{ID: drawnDoc(record.FinancialEntry, 1), Path: chain("a"), Body: []byte(`{"church_id":1,"transaction_type":"income"}`)}},
		{"a new person under a small id", "forbidden", db, merge.DocWrite{ID: record.Person.DocID(record.Int(77)), Path: chain("a"), Body: []byte(`{"full_name":"New","church_id":1}`)}},
		{"a new person under an id that is leased to another key", "forbidden", db, merge.DocWrite{ID: record.Person.DocID(record.Int(leased.From)), Path: chain("a"), Body: []byte(`{"full_name":"New","church_id":1}`)}},
		{"a new person, by a key that only reads", "forbidden", opens(t, s, reader, "church-1"), merge.DocWrite{ID: drawnDoc(record.Person, 3), Path: chain("a"), Body: []byte(`{"full_name":"New","church_id":1}`)}},
		{"a person that is elsewhere", "forbidden", db, merge.DocWrite{ID: record.Person.DocID(record.Int(other)), Path: chain("ba"), Body: []byte(`{"full_name":"Rui","church_id":1}`)}},
		{"a new membership", "ok", db, merge.DocWrite{ID: drawnDoc(record.Membership, 1), Path: chain("a"), Body: []byte(`{"person":1,"group_id":1}`)}},
		{"the same membership twice", "forbidden", db, merge.DocWrite{ID: drawnDoc(record.Membership, 2), Path: chain("a"), Body: []byte(`{"person":1,"group_id":1}`)}},
		{"a group, which /v1 does not write", "forbidden", db, merge.DocWrite{ID: drawnDoc(record.Group, 1), Path: chain("a"), Body: []byte(`{"name":"G","church_id":1}`)}},
		{"a church", "forbidden", opens(t, s, key, "reference"), merge.DocWrite{ID: drawnDoc(record.Church, 1), Path: chain("a"), Body: []byte(`{"name":"C"}`)}},
		{"a ticket", "forbidden", opens(t, s, key, "event-1"), merge.DocWrite{ID: drawnDoc(record.Ticket, 1), Path: chain("a"), Body: []byte(`{"event_id":1}`)}},
		{"a fact", "forbidden", opens(t, s, key, "event-1"), merge.DocWrite{ID: "checkin:" + ulid.Make().String(), Path: chain("a"), Body: []byte(`{"event_id":1}`)}},
		{"a kind that there is none of", "forbidden", db, merge.DocWrite{ID: "psalm:0000000000000001", Path: chain("a")}},
	} {
		if err := push(t, c.db, c.w); kindOf(err) != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	made, err := db.Read(drawnDoc(record.Person, 1), docs.Ask{})
	if err != nil || made.Tree.Len() != 2 || member(made.Revisions[0].Body, "created_at") == "null" || member(made.Revisions[0].Body, "created_by") != fmt.Sprint(key.Key()) {
		t.Errorf("the new person is %+v, %v, want a second revision with the server's dates", made, err)
	}
	if r, err := s.Desk.Retrieve(auth.Operator(), target(record.Person, 1)); err != nil || member(r.JSON, "full_name") != `"Ana Souza"` || member(r.JSON, "created_by") != "null" {
		t.Errorf("the person is %s, %v, want the new name, and that the key has not made the person", r.JSON, err)
	}
	healthy(t, s)
}

// A key replicates by the permission to, and with those of all that it reads and of what it writes.
func TestWhichPermissionsAKeyReplicatesWith(t *testing.T) {
	s := twoChurches(t)
	for _, c := range []struct {
		reads, writes, leases bool
		permissions           []string
	}{
		{true, true, true, []string{"sync:*", "people:*", "group:GET", "memberships:GET", "event:GET"}},
		{true, true, false, []string{"sync:*", "people:GET", "group:GET", "memberships:GET", "event:GET"}},
		{true, false, false, []string{"sync:GET", "people:*", "group:GET", "memberships:GET", "event:GET"}},
		{false, false, true, []string{"sync:*", "people:*", "group:GET", "event:GET"}},
		{false, false, false, []string{"people:*", "group:*", "memberships:*", "event:*"}},
	} {
		p := kvtest.Login(t, s, "church:1", c.permissions...)
		db, err := s.Docs.Database(p, "church-1")
		if err == nil {
			_, err = db.Info()
		}
		if (err == nil) != c.reads || err != nil && kindOf(err) != "forbidden" {
			t.Errorf("%v: a read = %v", c.permissions, err)
		}
		if err == nil {
			_, err = db.Write(nil)
		}
		if (err == nil) != c.writes || err != nil && kindOf(err) != "forbidden" {
			t.Errorf("%v: a write = %v", c.permissions, err)
		}
		if _, err := s.Venues.Lease(p, record.Person, 1, ""); (err == nil) != c.leases || err != nil && kindOf(err) != "forbidden" {
			t.Errorf("%v: a lease = %v", c.permissions, err)
		}
	}
}

func deletion(w merge.DocWrite) merge.DocWrite {
	w.Deleted, w.Body = true, nil
	return w
}

// What a laptop pushes is stored as received, where its level writes it.
func TestLaptopsPushWhatTheirLevelWrites(t *testing.T) {
	s := twoChurches(t)
	for range 3 {
		kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	}
	kvtest.Create(t, s, record.Person, `{"full_name":"Rui","church_id":2}`)
	kvtest.Create(t, s, record.Group, `{"name":"Choir","church_id":1}`)
	kvtest.Create(t, s, record.Membership, `{"person":2,"group_id":1}`)
	kvtest.Create(t, s, record.FinancialAccount, `{"name":"Cash"}`)
	kvtest.Create(t, s, record.Supplier, `{"name":"X"}`)
	newTicket(t, s, 1, "CODE", "")
	church := enrolled(t, s, "church:1", auth.Venue{})
	money := enrolled(t, s, "church:1", auth.Venue{Finance: true})
	door := enrolled(t, s, "event:1", auth.Venue{})
	whole := enrolled(t, s, "denomination", auth.Venue{Mirror: true})
	in := func(p auth.Principal, name string) *docs.Database { return opens(t, s, p, name) }
	gone := deletion(onTop(t, in(church, "church-1"), "person:0000000000000003", `{`, `{`))
	late := merge.DocWrite{ID: drawnDoc(record.Membership, 1), Path: chain("a"), Body: []byte(`{"person":3,"group_id":1}`)}
	if err := errors.Join(s.Desk.Delete(auth.Operator(), target(record.Person, 3)), push(t, in(auth.Operator(), "church-1"), late)); err != nil {
		t.Fatal(err)
	}
	entry := merge.DocWrite{ID: drawnDoc(record.FinancialEntry, 1), Path: chain("a"),
		Body: []byte(`{"church_id":1,"financial_account_id":1,"supplier_id":1,"transaction_type":"income","base_amount":"1.00"}`)}
	ticket := merge.DocWrite{ID: drawnDoc(record.Ticket, 1), Path: chain("a"), Body: []byte(`{"event_id":1,"state":"valid"}`)}
	for _, c := range []struct {
		name, want string
		db         *docs.Database
		w          merge.DocWrite
	}{
		{"a person with a field of a newer version", "ok", in(church, "church-1"), onTop(t, in(church, "church-1"), "person:0000000000000001", `{"`, `{"a_newer_field":{"x":1},"`)},
		{"the deletion of a person with a membership", "forbidden", in(church, "church-1"), deletion(onTop(t, in(church, "church-1"), "person:0000000000000002", `{`, `{`))},
		{"the deletion of one that is deleted, with a membership that came later", "ok", in(church, "church-1"), gone},
		{"an edit of a person that is elsewhere", "forbidden", in(church, "church-1"), merge.DocWrite{ID: "person:0000000000000004", Body: []byte(`{"full_name":"N","church_id":1}`)}},
		{"a person with an attachment", "forbidden", in(church, "church-1"), merge.DocWrite{ID: drawnDoc(record.Person, 1), Path: chain("a"), Body: []byte(`{"full_name":"N","church_id":1}`), Attachments: []merge.Attachment{{Name: "a"}}}},
		{"a person of another church", "forbidden", in(church, "church-1"), merge.DocWrite{ID: drawnDoc(record.Person, 1), Path: chain("a"), Body: []byte(`{"full_name":"N","church_id":2}`)}},
		{"a person through another database", "forbidden", in(church, "event-1"), merge.DocWrite{ID: drawnDoc(record.Person, 1), Path: chain("a"), Body: []byte(`{"full_name":"N","church_id":1}`)}},
		{"a group of nobody's", "forbidden", in(church, "reference"), merge.DocWrite{ID: drawnDoc(record.Group, 1), Path: chain("a"), Body: []byte(`{"name":"N"}`)}},
		{"a church", "forbidden", in(church, "reference"), merge.DocWrite{ID: drawnDoc(record.Church, 1), Path: chain("a"), Body: []byte(`{"name":"N"}`)}},
		{"money with --finance", "ok", in(money, "church-1-finance"), entry},
		{"a ticket at the door", "ok", in(door, "event-1"), ticket},
		{"the ticket again, changed by itself", "ok", in(door, "event-1"), merge.DocWrite{ID: ticket.ID, Path: chain("ba"), Body: []byte(`{"event_id":1,"state":"cancelled"}`)}},
		{"its private half, which it may not read", "ok", in(door, "event-1-holders"), merge.DocWrite{ID: drawnDoc(record.Holder, 1), Path: chain("a"), Body: fmt.Appendf(nil, `{"event_id":1,"ticket_id":%d}`, record.FirstDrawn+1)}},
		{"the centre's ticket", "forbidden", in(door, "event-1"), onTop(t, in(door, "event-1"), "ticket:0000000000000001", `"valid"`, `"cancelled"`)},
		{"a person", "forbidden", in(door, "event-1"), merge.DocWrite{ID: drawnDoc(record.Person, 9), Path: chain("a"), Body: []byte(`{"full_name":"N","church_id":1}`)}},
		{"the event", "forbidden", in(door, "event-1"), onTop(t, in(door, "event-1"), "event:0000000000000001", `"Sunday"`, `"Monday"`)},
		{"an event of its church", "ok", in(church, "church-1"), merge.DocWrite{ID: drawnDoc(record.Event, 1), Path: chain("a"), Body: []byte(`{"name":"N","church_id":1,"start_datetime":"2026-11-22T19:00:00Z"}`)}},
		{"an event of another church", "forbidden", in(church, "church-1"), merge.DocWrite{ID: drawnDoc(record.Event, 2), Path: chain("a"), Body: []byte(`{"name":"N","church_id":2}`)}},
		{"an event of nobody's", "forbidden", in(church, "event-3"), onTop(t, in(church, "event-3"), "event:0000000000000003", `"Sunday"`, `"Monday"`)},
		{"a ticket of its church's event", "ok", in(church, "event-1"), merge.DocWrite{ID: drawnDoc(record.Ticket, 2), Path: chain("a"), Body: []byte(`{"event_id":1,"state":"valid"}`)}},
		{"a ticket of an event of nobody's", "forbidden", in(church, "event-3"), merge.DocWrite{ID: drawnDoc(record.Ticket, 3), Path: chain("a"), Body: []byte(`{"event_id":3,"state":"valid"}`)}},
		{"its name", "forbidden", in(church, "event-3-holders"), merge.DocWrite{ID: drawnDoc(record.Holder, 3), Path: chain("a"), Body: []byte(`{"event_id":3,"ticket_id":3}`)}},
		{"an unknown kind of an event of nobody's", "forbidden", in(church, "event-3"), merge.DocWrite{ID: "psalm:1", Path: chain("a"), Body: []byte(`{}`)}},
		{"a check-in at an event of nobody's", "ok", in(church, "event-3"), merge.DocWrite{ID: "checkin:" + ulid.Make().String(), Path: chain("a"), Body: fmt.Appendf(nil, `{"event_id":3,"node":%q,"hlc":"0000000000000001","at":"2026-05-01T12:00:00Z"}`, church.Node())}},
		{"a ticket of an event of nobody's from a mirror, which was not enrolled for it", "forbidden", in(whole, "event-3"), merge.DocWrite{ID: drawnDoc(record.Ticket, 4), Path: chain("a"), Body: []byte(`{"event_id":3,"state":"valid"}`)}},
		{"a person through the mirror", "forbidden", in(whole, "records"), merge.DocWrite{ID: drawnDoc(record.Person, 8), Path: chain("a"), Body: []byte(`{"full_name":"N","church_id":1}`)}},
		{"a key", "forbidden", in(church, "church-1"), merge.DocWrite{ID: "api_key:0000000000000001", Path: chain("ba"), Body: []byte(`{"level":"denomination"}`)}},
	} {
		if err := push(t, c.db, c.w); kindOf(err) != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := s.Docs.Database(church, "church-1-finance"); kindOf(err) != "forbidden" {
		t.Errorf("money without --finance: %v", err)
	}
	doc, err := in(church, "church-1").Read("person:0000000000000001", docs.Ask{})
	if err != nil || member(doc.Revisions[0].Body, "a_newer_field") != `{"x":1}` {
		t.Errorf("the person is %s, %v, want the newer field", doc.Revisions[0].Body, err)
	}
	if _, err := in(door, "event-1").Read(ticket.ID, docs.Ask{}); err != nil {
		t.Error(err)
	}
	if db := in(door, "event-1-holders"); true {
		if _, _, err := db.Changes(docs.Feed{Limit: 1}); kindOf(err) != "forbidden" {
			t.Errorf("a laptop of an event reads holders: %v", err)
		}
	}
	healthy(t, s)
}

// TestALaptopSignsForItselfAlone: nobody but the centre says that somebody else has written something.
func TestALaptopSignsForItselfAlone(t *testing.T) {
	s := twoChurches(t)
	node := ulid.Make()
	p := enrolled(t, s, "church:1", auth.Venue{Node: node.String()})
	db := opens(t, s, p, "church-1")
	page, away := kvtest.Login(t, s, "church:1", "*:*"), kvtest.Login(t, s, "church:2", "*:*")
	chief := kvtest.Login(t, s, "denomination", "*:*")
	other := enrolled(t, s, "church:1", auth.Venue{})
	const made = record.FirstDrawn + 7 // a key that was made at the laptop
	for i, c := range []struct {
		name        string
		node        ulid.ULID
		key, signed int64
	}{
		{"nobody", ulid.ULID{}, 0, 0},
		{"its own operator", node, 0, 0},
		{"its own key", node, p.Key(), p.Key()},
		{"a key of its church", node, page.Key(), page.Key()},
		{"a key that was made there", node, made, made},
		{"a key of another church", node, away.Key(), p.Key()},
		{"a key of the centre's", node, chief.Key(), p.Key()},
		{"another laptop's key", node, other.Key(), p.Key()},
		{"a key that is not there", node, 4711, p.Key()},
		{"another laptop", ulid.MustParse(other.Node()), 0, 0},
		{"another laptop and its key", ulid.MustParse(other.Node()), other.Key(), p.Key()},
		{"the centre", ulid.MustParse(s.Tables.Identity.Node()), chief.Key(), p.Key()},
	} {
		w := merge.DocWrite{ID: drawnDoc(record.Person, int64(i)), Path: chain("a"), Body: []byte(`{"full_name":"Ana","church_id":1}`), Author: merge.Author{Node: c.node, Key: c.key}}
		if err := push(t, db, w); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		tree := kv.TreeOf(t, s, record.Person, record.FirstDrawn+int64(i))
		if by := tree.Winner(); by.Node != node || by.Key != c.signed {
			t.Errorf("%s: signed by node %s, key %d, want %s, %d", c.name, by.Node, by.Key, node, c.signed)
		}
		psalm := merge.DocWrite{ID: fmt.Sprintf("psalm:%d", i), Path: chain("a"), Body: []byte(`{}`), Author: w.Author}
		if err := push(t, db, psalm); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		doc, err := db.Read(psalm.ID, docs.Ask{})
		if by := doc.Tree.Winner(); err != nil || by.Node != node || by.Key != c.signed {
			t.Errorf("%s: a psalm is signed by node %s, key %d, %v, want %s, %d", c.name, by.Node, by.Key, err, node, c.signed)
		}
	}
}

// TestAKeySignsForItselfAlone: no key says that another one, or a laptop, has written something, or when.
func TestAKeySignsForItselfAlone(t *testing.T) {
	s := twoChurches(t)
	chief, page := kvtest.Login(t, s, "denomination", "*:*"), kvtest.Login(t, s, "church:1", "*:*")
	w := merge.DocWrite{ID: drawnDoc(record.Person, 1), Path: chain("a"), Body: []byte(`{"full_name":"Ana","church_id":1}`)}
	w.Author = merge.Author{Node: ulid.MustParse(anotherNode), Key: chief.Key(), At: sunday, Fields: []string{"email"}}
	if err := push(t, opens(t, s, page, "church-1"), w); err != nil {
		t.Fatal(err)
	}
	tree := kv.TreeOf(t, s, record.Person, record.FirstDrawn+1)
	if by := tree.Nodes()[0]; by.Node != (ulid.ULID{}) || by.Key != page.Key() || by.At == sunday.UnixMicro() || by.Fields != nil {
		t.Errorf("the revision is signed by %+v, want key %d alone", by, page.Key())
	}
}

// TestAKeyLearnsNothingOfARecordThatItDoesNotSee edits records of another church: live, deleted, and never made. The answers are the
// same for each.
func TestAKeyLearnsNothingOfARecordThatItDoesNotSee(t *testing.T) {
	s := twoChurches(t)
	for range 2 {
		kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":2}`)
	}
	if err := s.Desk.Delete(auth.Operator(), target(record.Person, 2)); err != nil {
		t.Fatal(err)
	}
	db := opens(t, s, kvtest.Login(t, s, "church:1", "sync:*", "people:*", "group:*", "memberships:*", "event:*"), "church-1")
	for _, w := range []merge.DocWrite{
		{Body: []byte(`{"full_name":"Eva","church_id":1}`)},
		{Deleted: true},
		{Parent: chain("x")[0], Body: []byte(`{"full_name":"Eva","church_id":1}`)},
		{Parent: chain("x")[0], Deleted: true},
		{Path: chain("x"), Body: []byte(`{"full_name":"Eva","church_id":1}`)},
		{Path: chain("x"), Deleted: true},
	} {
		answers := map[string]string{}
		for name, id := range map[string]int64{"live": 1, "deleted": 2, "never made": 99} {
			w.ID = record.Person.DocID(record.Int(id))
			answers[name] = fmt.Sprint(push(t, db, w))
		}
		if want := answers["never made"]; want == "<nil>" || answers["live"] != want || answers["deleted"] != want {
			t.Errorf("%+v is answered with %q", w, answers)
		}
	}
}
