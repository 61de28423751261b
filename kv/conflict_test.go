package kv_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// joined is a centre and a laptop of one church.
type joined struct {
	centre, venue *kv.Store
	p             auth.Principal
}

func newPair(t testing.TB) joined {
	t.Helper()
	c := joined{centre: twoChurches(t), venue: kvtest.Open(t)}
	if err := kv.SetLeaf(c.venue); err != nil {
		t.Fatal(err)
	}
	c.p = enrolled(t, c.centre, "church:1", auth.Venue{Node: c.venue.Tables.Identity.Node()})
	return c
}

// sync pushes the laptop's church and pulls the centre's, and answers what was refused.
func (c joined) sync(t testing.TB) (refused []string) {
	t.Helper()
	there, here := opens(t, c.centre, c.p, "church-1"), opens(t, c.venue, auth.Operator(), "church-1")
	refused = replicated(t, here, c.venue.Tables.Identity.Node(), there)
	if r := replicated(t, there, c.centre.Tables.Identity.Node(), here); r != nil {
		t.Errorf("the laptop refuses %v", r)
	}
	return refused
}

// The centre merges what both sides changed, field by field; what it could not take it lists.
func TestTheCentreMerges(t *testing.T) {
	c := newPair(t)
	id := kvtest.Create(t, c.centre, record.Person, `{"full_name":"Ana","church_id":1}`)
	c.sync(t)
	patched(t, c.centre, record.Person, id, `{"full_name":"Ana C","email":"c@example.org"}`)
	patched(t, c.venue, record.Person, id, `{"full_name":"Ana V","occupation":"nurse"}`)
	c.sync(t)
	for _, s := range []*kv.Store{c.centre, c.venue} {
		r, err := s.Desk.Retrieve(auth.Operator(), target(record.Person, id))
		if err != nil || member(r.JSON, "email") != `"c@example.org"` || member(r.JSON, "occupation") != `"nurse"` {
			t.Errorf("the person is %s, %v, want what each side changed", r.JSON, err)
		}
		healthy(t, s)
	}
	doc := record.Person.DocID(record.Int(id))
	if a, b := bodyOf(t, opens(t, c.centre, auth.Operator(), "church-1"), doc), bodyOf(t, opens(t, c.venue, auth.Operator(), "church-1"), doc); a != b {
		t.Errorf("the centre has %s, the laptop %s", a, b)
	}
	page := pageOf(t, c.centre, record.Conflict)
	if page.Count != 1 || member(only(page), "field") != `"full_name"` || member(only(page), "record_id") != fmt.Sprintf(`"%d"`, id) {
		t.Fatalf("conflicts = %s, want one about the name", page.Results)
	}
	names := member(only(page), "winner") + member(only(page), "other")
	if !strings.Contains(names, "Ana C") || !strings.Contains(names, "Ana V") {
		t.Errorf("conflict = %s, want both names", only(page))
	}
	if r := c.sync(t); r != nil || pageOf(t, c.centre, record.Conflict).Count != 1 {
		t.Errorf("another round refuses %v and lists more", r)
	}
}

// editOfADeleted is a person that the centre has deleted while the laptop edited it, once both know.
func editOfADeleted(t *testing.T) (c joined, id int64) {
	t.Helper()
	c = newPair(t)
	id = kvtest.Create(t, c.centre, record.Person, `{"full_name":"Ana","church_id":1}`)
	c.sync(t)
	if err := c.centre.Desk.Delete(auth.Operator(), target(record.Person, id)); err != nil {
		t.Fatal(err)
	}
	patched(t, c.venue, record.Person, id, `{"full_name":"Ana V"}`)
	c.sync(t)
	return c, id
}

// Delete against edit: it stays deleted, and the edit is listed whole.
func TestAnEditOfADeletedRecordIsListed(t *testing.T) {
	c, id := editOfADeleted(t)
	for _, s := range []*kv.Store{c.centre, c.venue} {
		if _, err := s.Desk.Retrieve(auth.Operator(), target(record.Person, id)); kindOf(err) != "not found" {
			t.Errorf("the deleted person: %v", err)
		}
		healthy(t, s)
	}
	page := pageOf(t, c.centre, record.Conflict)
	if page.Count != 1 || !strings.Contains(member(only(page), "other"), "Ana V") {
		t.Errorf("conflicts = %s, want the edit", page.Results)
	}
}

// What somebody made of a record after it has moved away is refused and kept whole.
func TestAPushAfterAMoveIsKept(t *testing.T) {
	c := newPair(t)
	id := kvtest.Create(t, c.centre, record.Person, `{"full_name":"Ana","church_id":1}`)
	c.sync(t)
	patched(t, c.centre, record.Person, id, `{"church_id":2}`)
	patched(t, c.venue, record.Person, id, `{"full_name":"Ana V"}`)
	for range 2 {
		if refused := c.sync(t); len(refused) != 1 {
			t.Errorf("refused = %v, want one", refused)
		}
	}
	page := pageOf(t, c.centre, record.Refusal)
	if page.Count != 1 || !strings.Contains(member(only(page), "doc"), "Ana V") || member(only(page), "db") != `"church-1"` {
		t.Errorf("refusals = %s, want the document", page.Results)
	}
	healthy(t, c.centre)
}

// TestReplicasComeTogether draws edits on both sides, with exchanges between them: after a last exchange both have the same.
func TestReplicasComeTogether(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		c := newPair(t)
		var ids []int64
		for i := range 3 {
			ids = append(ids, kvtest.Create(t, c.centre, record.Person, fmt.Sprintf(`{"full_name":"P%d","church_id":1}`, i)))
		}
		c.sync(t)
		for n := range rapid.IntRange(1, 15).Draw(r, "steps") {
			s := rapid.SampledFrom([]*kv.Store{c.centre, c.venue}).Draw(r, "side")
			id := rapid.SampledFrom(ids).Draw(r, "id")
			switch rapid.IntRange(0, 6).Draw(r, "what") {
			case 0:
				c.sync(t)
			case 1:
				err := s.Desk.Delete(auth.Operator(), target(record.Person, id))
				if k := kindOf(err); k != "ok" && k != "not found" {
					t.Fatal(err)
				}
			default:
				field := rapid.SampledFrom([]string{"full_name", "email", "occupation"}).Draw(r, "field")
				body := fmt.Sprintf(`{%q:"x%d@example.org"}`, field, rapid.IntRange(0, 3).Draw(r, "value")+4*(n%2))
				_, err := s.Desk.Update(auth.Operator(), target(record.Person, id), kvtest.Parse(r, record.Person, body, false))
				if k := kindOf(err); k != "ok" && k != "not found" {
					t.Fatal(err)
				}
			}
		}
		for range 2 {
			if refused := c.sync(t); refused != nil {
				r.Errorf("refused: %v", refused)
			}
		}
		for _, id := range ids {
			doc := record.Person.DocID(record.Int(id))
			a := bodyOf(t, opens(t, c.centre, auth.Operator(), "church-1"), doc)
			b := bodyOf(t, opens(t, c.venue, auth.Operator(), "church-1"), doc)
			if a != b {
				r.Errorf("%s is %s at the centre, %s at the laptop", doc, a, b)
			}
			if open := kv.TreeOf(t, c.centre, record.Person, id); len(open.Open()) > 1 {
				r.Errorf("%s has open leaves at the root: %+v", doc, open.Open())
			}
		}
		for _, s := range []*kv.Store{c.centre, c.venue} {
			if report, err := s.Files.Verify(auth.Operator(), nil); err != nil || report.Damaged > 0 {
				r.Errorf("Verify = %+v, %v", report, err)
			}
		}
	})
}

// only is the one record of a page.
func only(p desk.Page) []byte { return p.Results[1 : len(p.Results)-1] }
