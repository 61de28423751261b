package replicate_test

import (
	"bytes"
	"errors"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/erase"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/sync/replicate"
)

// TestAFileTellsWhatWasErased: a store that a file fills cannot tell whom that is about, so it has to be written anew in any case; once
// it learns the realm's key it knows.
func TestAFileTellsWhatWasErased(t *testing.T) {
	t.Parallel()
	centre, away := kvtest.Open(t), kvtest.Open(t)
	kvtest.Create(t, centre, record.Church, `{"name":"Central"}`)
	id := kvtest.Create(t, centre, record.Person, `{"full_name":"Ana Souza","church_id":1}`)
	doc := record.Person.DocID(record.Int(id))
	own, err := centre.Docs.Database(auth.Operator(), "church-1")
	if err != nil {
		t.Fatal(err)
	}
	was, err := own.Read(doc, docs.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	first := was.Revisions[0].Revision
	if err := away.Laptop.Join(auth.Operator(), table.Upstream{Node: centre.Tables.Identity.Node()}, office.Credential{Realm: centre.Tables.Identity.Realm()}); err != nil {
		t.Fatal(err)
	}
	carried(t, centre, away)
	if _, err := centre.Erasures.Erase(auth.Operator(), record.Person, record.Int(id)); err != nil {
		t.Fatal(err)
	}
	carried(t, centre, away)
	if err := away.Erasures.Recall.Carry(auth.Operator(), []erase.Erasure{{Kind: record.Membership}}); err != nil { // which carries out what came before
		t.Fatal(err)
	}
	if due, _, err := away.Erasures.Uncompacted(); err != nil || due != 2 {
		t.Errorf("due = %d, %v, want both: nobody knows here whether they were of anything", due, err)
	}
	there, err := away.Docs.Database(auth.Operator(), "church-1")
	if err != nil {
		t.Fatal(err)
	}
	if knowsErased(t, there, doc, first) {
		t.Error("without the key it knows who was erased")
	}
	key, err := centre.Laptop.CodeKey(auth.Operator())
	if err == nil {
		err = away.Laptop.Join(auth.Operator(), table.Upstream{Node: centre.Tables.Identity.Node()}, office.Credential{Realm: centre.Tables.Identity.Realm(), CodeKey: key})
	}
	if err != nil {
		t.Fatal(err)
	}
	if !knowsErased(t, there, doc, first) {
		t.Error("with the key it does not know who was erased")
	}
	if none, err := centre.Laptop.CodeKey(kvtest.Login(t, centre, "denomination", "*:*")); !errors.Is(err, auth.ErrForbidden) {
		t.Errorf("CodeKey for a key = %d bytes, %v, want forbidden", len(none), err)
	}
}

// carried brings all records of a store to another by a file.
func carried(t testing.TB, from, to *kv.Store) {
	t.Helper()
	source, err := replicate.OpenLocal(from, auth.Operator(), "records")
	if err != nil {
		t.Fatal(err)
	}
	says, err := source.Identify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	target, err := replicate.CreateFile(&text, says.Head)
	if err != nil {
		t.Fatal(err)
	}
	out, err := replicate.Run(t.Context(), replicate.Job{Source: source, Target: target})
	if err = errors.Join(err, target.Finish(out)); err != nil {
		t.Fatal(err)
	}
	file, err := replicate.OpenFile(&text)
	if err != nil {
		t.Fatal(err)
	}
	into, err := replicate.OpenLocal(to, auth.Operator(), "records")
	if err != nil {
		t.Fatal(err)
	}
	if out, err = replicate.Run(t.Context(), replicate.Job{Source: file, Target: into}); err != nil || len(out.Denied) > 0 {
		t.Fatalf("from the file: %+v, %v", out, err)
	}
}

// knowsErased tells that a store knows who was erased: what it answers of the first revision says nothing of the person either way.
func knowsErased(t *testing.T, db *docs.Database, doc string, first rev.ID) bool {
	t.Helper()
	d, err := db.Read(doc, docs.Ask{Revisions: []rev.ID{first}})
	if errors.Is(err, table.ErrNotFound) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	if body := d.Revisions[0].Body; bytes.Contains(body, []byte("Ana")) {
		t.Errorf("the first revision is %s", body)
	}
	return d.Revisions[0].Deleted
}
