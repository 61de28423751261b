package kv_test

import (
	"slices"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// TestARevisionOnThePresentOneKeepsItsBody: a page that edited twice offline brings both at once. Whoever made the last one holds
// it as it was brought, and so must the store: what it sets itself is a revision of its own.
func TestARevisionOnThePresentOneKeepsItsBody(t *testing.T) {
	t.Parallel()
	s := twoChurches(t)
	for between := range 3 {
		id := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
		db := opens(t, s, kvtest.Login(t, s, "church:1", "*:*"), "church-1")
		w := onTop(t, db, record.Person.DocID(record.Int(id)), `"membership_number":null`, `"membership_number":" 7"`)
		present := w.Path[1]
		w.Path = append(chain("cba"[:1+between]), present)
		for i := range w.Path[:1+between] {
			w.Path[i].Generation = present.Generation + uint64(1+between-i)
		}
		if err := push(t, db, w); err != nil {
			t.Fatal(err)
		}
		doc, err := db.Read(w.ID, docs.Ask{Revisions: w.Path[:1]})
		if err != nil || len(doc.Revisions) != 1 {
			t.Fatalf("%d revisions between: the last is %+v, %v", between, doc, err)
		}
		if is := string(doc.Revisions[0].Body); is != string(w.Body) {
			t.Errorf("%d revisions between: the last is %s, want what was brought: %s", between, is, w.Body)
		}
		settled, err := db.Read(w.ID, docs.Ask{})
		if err != nil || !slices.Equal(settled.Tree.Path(settled.Revisions[0].Revision)[1:], w.Path) {
			t.Errorf("%d revisions between: what the store set is %+v, %v, want a revision on the last", between, settled.Tree.Nodes(), err)
		}
		r, err := s.Desk.Retrieve(auth.Operator(), desk.Target{Kind: record.Person, ID: record.Int(id)})
		if number := member(r.JSON, "membership_number"); err != nil || number != "7" {
			t.Errorf("%d revisions between: /v1 shows the number %s, %v, want 7", between, number, err)
		}
	}
	healthy(t, s)
}
