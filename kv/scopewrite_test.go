package kv_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/rev"
)

// opens opens a database that must be there.
func opens(t testing.TB, s *kv.Store, p auth.Principal, name string) *docs.Database {
	t.Helper()
	db, err := s.Docs.Database(p, name)
	if err != nil {
		t.Fatalf("open %s: %v", name, err)
	}
	return db
}

// replicated brings what one database has and the other lacks over, as a replicator does, and answers what was refused.
func replicated(t testing.TB, from *docs.Database, node string, to *docs.Database) (refused []string) {
	t.Helper()
	f := docs.Feed{Limit: 50}
	for more := true; more; {
		page, goesOn, err := from.Changes(f)
		if err != nil {
			t.Fatalf("changes of %s: %v", from.Name(), err)
		}
		for _, c := range page {
			f.Since = c.Seq
			if !c.Removed {
				refused = append(refused, broughtOver(t, from, node, to, c.ID)...)
			}
		}
		more = goesOn
	}
	return refused
}

// broughtOver brings the leaves of one document over.
func broughtOver(t testing.TB, from *docs.Database, node string, to *docs.Database, id string) (refused []string) {
	t.Helper()
	doc, err := from.Read(id, docs.Ask{Leaves: true})
	if err != nil {
		t.Fatalf("read %s: %v", id, err)
	}
	for _, r := range doc.Revisions {
		missing, err := to.Missing([]merge.Revs{{ID: id, Revisions: []rev.ID{r.Revision}}})
		if err != nil {
			t.Fatal(err)
		}
		if len(missing[0].Missing) == 0 {
			continue
		}
		n := doc.Tree.Find(r.Revision)
		w := merge.DocWrite{ID: id, Path: doc.Tree.Path(r.Revision), Deleted: r.Deleted, Body: r.Body}
		w.Author = merge.Author{Key: n.Key, Node: n.Node, Fields: n.Fields}
		if n.At != 0 {
			w.Author.At = time.UnixMicro(n.At)
		}
		if n.Node == (ulid.ULID{}) {
			w.Author.Node = ulid.MustParse(node)
		}
		results, err := to.Write([]merge.DocWrite{w})
		if err != nil {
			t.Fatalf("write %s: %v", id, err)
		}
		if err := results[0].Err; err != nil {
			refused = append(refused, fmt.Sprintf("%s: %v", id, err))
		}
	}
	return refused
}

// bodyOf is a document's present body, "" where it is deleted, with its revision.
func bodyOf(t testing.TB, db *docs.Database, id string) string {
	t.Helper()
	doc, err := db.Read(id, docs.Ask{})
	if err != nil {
		return err.Error()
	}
	if doc.Deleted {
		return "deleted " + doc.Revisions[0].Revision.String()
	}
	return doc.Revisions[0].Revision.String() + string(doc.Revisions[0].Body)
}

// A laptop pulls a church, changes it offline, and pushes what it made; the centre has it as it was made.
func TestAChurchGoesToALaptopAndBack(t *testing.T) {
	centre, venue := twoChurches(t), kvtest.Open(t)
	person := kvtest.Create(t, centre, record.Person, `{"full_name":"Ana","church_id":1}`)
	group := kvtest.Create(t, centre, record.Group, `{"name":"Choir","church_id":1}`)
	kvtest.Create(t, centre, record.Membership, fmt.Sprintf(`{"person":%d,"group_id":%d}`, person, group))
	newTicket(t, centre, 1, "CODE", `,"holder_name":"Ana"`)
	p := enrolled(t, centre, "church:1", auth.Venue{Node: venue.Tables.Identity.Node(), Names: true})
	names := []string{"church-1", "reference", "event-1", "event-1-names", "event-1-holders"}
	for _, name := range names {
		if refused := replicated(t, opens(t, centre, p, name), centre.Tables.Identity.Node(), opens(t, venue, auth.Operator(), name)); refused != nil {
			t.Errorf("the laptop refuses %v", refused)
		}
	}
	patched(t, venue, record.Person, person, `{"full_name":"Ana Souza"}`)
	scanned(t, venue, auth.Operator(), door.Attempt{Event: 1, Code: "CODE"}, outcome.Outcome("unknown_code")) // it has not the code key yet
	for _, name := range names[:1] {
		if refused := replicated(t, opens(t, venue, auth.Operator(), name), venue.Tables.Identity.Node(), opens(t, centre, p, name)); refused != nil {
			t.Errorf("the centre refuses %v", refused)
		}
	}
	for _, name := range names {
		db := opens(t, centre, auth.Operator(), name)
		page, _, err := db.Changes(docs.Feed{Limit: 100})
		if err != nil || len(page) == 0 {
			t.Fatal(err)
		}
		for _, c := range page {
			if a, b := bodyOf(t, db, c.ID), bodyOf(t, opens(t, venue, auth.Operator(), name), c.ID); a != b && c.ID[:4] != "scan" {
				t.Errorf("%s is %s at the centre, %s at the venue", c.ID, a, b)
			}
		}
	}
	tree := kv.TreeOf(t, centre, record.Person, person)
	last := tree.Winner()
	if tree.Len() != 2 || last.Node.String() != venue.Tables.Identity.Node() || len(last.Fields) != 1 || last.Fields[0] != "full_name" || last.At == 0 {
		t.Errorf("the centre knows of the change %+v, want the laptop's name, its time and the field", last)
	}
	healthy(t, centre)
	healthy(t, venue)
}

// Two replicas that changed one record show the same one, whichever came first, and keep the other.
func TestTheWinnerIsTheSameEverywhere(t *testing.T) {
	a, b := twoChurches(t), kvtest.Open(t)
	if err := kv.SetLeaf(a); err != nil { // who has a centre merges nothing
		t.Fatal(err)
	}
	if err := kv.SetLeaf(b); err != nil {
		t.Fatal(err)
	}
	id := kvtest.Create(t, a, record.Person, `{"full_name":"Ana","church_id":1}`)
	atA, atB := opens(t, a, auth.Operator(), "church-1"), opens(t, b, auth.Operator(), "church-1")
	replicated(t, atA, a.Tables.Identity.Node(), atB)
	patched(t, a, record.Person, id, `{"full_name":"Ana A"}`)
	patched(t, b, record.Person, id, `{"full_name":"Ana B"}`)
	replicated(t, atA, a.Tables.Identity.Node(), atB)
	replicated(t, atB, b.Tables.Identity.Node(), atA)
	doc := record.Person.DocID(record.Int(id))
	if x, y := bodyOf(t, atA, doc), bodyOf(t, atB, doc); x != y {
		t.Errorf("one shows %s, the other %s", x, y)
	}
	for _, s := range []*kv.Store{a, b} {
		page, _, err := opens(t, s, auth.Operator(), "church-1").Changes(docs.Feed{Limit: 9, IDs: []string{doc}})
		if err != nil || len(page) != 1 || len(page[0].Leaves) != 2 {
			t.Errorf("changes = %+v, %v, want both leaves", page, err)
		}
		healthy(t, s)
	}
	if err := a.Desk.Delete(auth.Operator(), target(record.Person, id)); err != nil {
		t.Fatal(err)
	}
	if got := bodyOf(t, atA, doc); !strings.HasPrefix(got, "deleted") {
		t.Errorf("after its deletion the record is %s", got)
	}
	healthy(t, a)
}

// TestOnlyTheStoreItselfBringsAMissingBody: a key names a revision that the record had and of which no body is here. Nothing proves that
// the body is the revision's, so it is not kept. The store's own replicator takes the body from a store that has it.
func TestOnlyTheStoreItselfBringsAMissingBody(t *testing.T) {
	s := twoChurches(t)
	own := opens(t, s, auth.Operator(), "church-1")
	write := func(db *docs.Database, letters, name string) {
		t.Helper()
		w := merge.DocWrite{ID: record.Person.DocID(record.Int(500)), Path: chain(letters), Body: fmt.Appendf(nil, `{"full_name":%q,"church_id":1}`, name)}
		if err := push(t, db, w); err != nil {
			t.Fatal(err)
		}
	}
	write(own, "ba", "Ana Souza")
	for name, p := range map[string]auth.Principal{"key": kvtest.Login(t, s, "church:1", "*:*"), "laptop": enrolled(t, s, "church:1", auth.Venue{})} {
		write(opens(t, s, p, "church-1"), "a", "Forged")
		if n := kv.RowsHolding(t, s, "body", "Forged"); n != 0 {
			t.Errorf("by a %s %d bodies are kept", name, n)
		}
	}
	write(own, "a", "Ana Lima")
	if n := kv.RowsHolding(t, s, "body", "Ana Lima"); n != 1 {
		t.Errorf("by the store itself %d bodies are kept, want one", n)
	}
	healthy(t, s)
}

// TestAnEditThatLostIsListedWhereTheRecordIsDeleted: who deletes it at the laptop has seen the winner alone, and the centre may
// never have had the other.
func TestAnEditThatLostIsListedWhereTheRecordIsDeleted(t *testing.T) {
	c := newPair(t)
	id := kvtest.Create(t, c.centre, record.Person, `{"full_name":"Ana","church_id":1}`)
	here, there := opens(t, c.venue, auth.Operator(), "church-1"), opens(t, c.centre, c.p, "church-1")
	down := func() {
		replicated(t, opens(t, c.centre, auth.Operator(), "church-1"), c.centre.Tables.Identity.Node(), here)
	}
	down()
	patched(t, c.centre, record.Person, id, `{"full_name":"Ana Centre"}`)
	patched(t, c.centre, record.Person, id, `{"email":"ana@example.org"}`)
	patched(t, c.venue, record.Person, id, `{"full_name":"Ana Laptop"}`) // of a lower generation: it loses
	down()
	if r, err := c.venue.Desk.Retrieve(auth.Operator(), target(record.Person, id)); err != nil || member(r.JSON, "full_name") != `"Ana Centre"` {
		t.Fatalf("the laptop shows %s, %v, want the centre's edit", r.JSON, err)
	}
	if err := c.venue.Desk.Delete(auth.Operator(), target(record.Person, id)); err != nil {
		t.Fatal(err)
	}
	if refused := replicated(t, here, c.venue.Tables.Identity.Node(), there); refused != nil {
		t.Fatalf("the centre refuses %v", refused)
	}
	if got := bodyOf(t, there, record.Person.DocID(record.Int(id))); !strings.HasPrefix(got, "deleted") {
		t.Errorf("the person is %s at the centre", got)
	}
	for name, s := range map[string]*kv.Store{"laptop": c.venue, "centre": c.centre} {
		if n := kv.RowsHolding(t, s, "kind:conflict", "Ana Laptop"); n != 1 {
			t.Errorf("at the %s the lost edit is listed %d times, want once", name, n)
		}
		if n := kv.RowsHolding(t, s, "kind:conflict", "Ana Centre"); n != 0 {
			t.Errorf("at the %s the deleted edit is listed %d times", name, n)
		}
		healthy(t, s)
	}
	if refused := replicated(t, here, c.venue.Tables.Identity.Node(), there); refused != nil || kv.RowsHolding(t, c.centre, "kind:conflict", "Ana") != 1 {
		t.Errorf("brought once more: %v refused, %d listed", refused, kv.RowsHolding(t, c.centre, "kind:conflict", "Ana"))
	}
}

func TestAFactIsNeverChanged(t *testing.T) {
	centre, venue := twoChurches(t), kvtest.Open(t)
	db := opens(t, centre, enrolled(t, centre, "event:1", auth.Venue{Node: venue.Tables.Identity.Node()}), "event-1")
	id := ulid.Make().String()
	body := func(node, door string) []byte {
		return fmt.Appendf(nil, `{"event_id":1,"ticket_id":7,"hlc":"019000000000%04x","at":"2026-11-22T19:00:00Z","node":%q,"door":%q,"direction":"in","list":""}`, 1, node, door)
	}
	write := func(w merge.DocWrite) string {
		t.Helper()
		results, err := db.Write([]merge.DocWrite{w})
		if err != nil {
			t.Fatal(err)
		}
		return kindOf(results[0].Err)
	}
	first := merge.DocWrite{ID: "checkin:" + id, Path: chain("a"), Body: body(venue.Tables.Identity.Node(), "north")}
	for _, c := range []struct {
		name, want string
		w          merge.DocWrite
	}{
		{"the first", "ok", first},
		{"the same again", "ok", first},
		{"another under its id", "forbidden", merge.DocWrite{ID: first.ID, Path: chain("b"), Body: body(venue.Tables.Identity.Node(), "south")}},
		{"a second revision", "forbidden", merge.DocWrite{ID: first.ID, Path: chain("ba"), Body: body(venue.Tables.Identity.Node(), "south")}},
		{"its deletion", "forbidden", merge.DocWrite{ID: first.ID, Path: chain("ba"), Deleted: true}},
		{"one by another node", "forbidden", merge.DocWrite{ID: "checkin:" + ulid.Make().String(), Path: chain("a"), Body: body(centre.Tables.Identity.Node(), "north")}},
		{"one of another event", "forbidden", merge.DocWrite{ID: "checkin:" + ulid.Make().String(), Path: chain("a"),
			Body: []byte(strings.Replace(string(body(venue.Tables.Identity.Node(), "north")), `"event_id":1`, `"event_id":2`, 1))}},
	} {
		if got := write(c.w); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if n := kv.Rows(t, centre, "kind:checkin"); n != 1 {
		t.Errorf("%d check-ins, want one", n)
	}
	healthy(t, centre)
}
