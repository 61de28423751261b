package kv_test

import (
	"fmt"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
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
			if err := c.centre.Inbox.ResolveRefusal(auth.Operator(), page[0].ID, true); err != nil {
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
