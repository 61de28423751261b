package kv_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"

	"go.etcd.io/bbolt"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
)

// everyRow makes a small store with a row in every bucket, and answers its file.
func everyRow(t *testing.T) (file string) {
	t.Helper()
	k := knowing(t)
	free := notebook(t, k.Store)
	blob, err := free.PutBlob(bytes.NewReader(bytes.Repeat([]byte("note "), 3000)))
	if err != nil {
		t.Fatal(err)
	}
	noted(t, k.Store, "sheet", `{"n":1}`, merge.Attachment{Name: "a", Blob: blob})
	if _, err := free.PutBlob(bytes.NewReader([]byte("loose"))); err != nil {
		t.Fatal(err)
	}
	if _, err := free.PutLocal("checkpoint", []byte(`{"n":1}`), docs.Whatever); err != nil {
		t.Fatal(err)
	}
	p := enrolled(t, k.Store, "church:1", auth.Venue{Names: true})
	if _, err := k.Store.Venues.Lease(p, record.Person, 10, k.Store.Tables.Epochs.Present()); err != nil {
		t.Fatal(err)
	}
	for i, doc := range []string{drawnDoc(record.Person, 1), drawnDoc(record.Person, 2), "psalm:0000000000000001"} {
		w := merge.DocWrite{ID: doc, Path: chain("abc"[i : i+1]), Body: []byte(`{"full_name":"Eva","church_id":1,"external_id":"Eva"}`)}
		if err := push(t, opens(t, k.Store, p, "church-1"), w); err != nil {
			t.Fatal(err)
		}
	}
	gone := kvtest.Create(t, k.Store, record.Person, `{"full_name":"Leaves","church_id":1}`)
	patched(t, k.Store, record.Person, kvtest.Create(t, k.Store, record.Person, `{"full_name":"Moves","church_id":1}`), `{"church_id":2}`)
	if _, err := k.Store.Erasures.Erase(auth.Operator(), record.Person, record.Int(gone)); err != nil {
		t.Fatal(err)
	}
	for i := range 150 { // enough for branch pages
		newTicket(t, k.Store, 1, fmt.Sprintf("SEAT-%d", i), `,"holder_name":"Bia Lima"`)
	}
	for _, a := range seats(60) {
		scanned(t, k.Store, auth.Operator(), a, outcome.Admitted)
	}
	scanned(t, k.Store, auth.Operator(), door.Attempt{Event: 1, Code: "NOBODY"}, outcome.UnknownCode)
	d := scanned(t, k.Store, auth.Operator(), door.Attempt{Event: 1, Code: "SEAT-100"}, outcome.Admitted)
	if _, err := k.Store.Door.Undo(auth.Operator(), door.Undoing{Event: 1, CheckinID: d.CheckinID}); err != nil {
		t.Fatal(err)
	}
	source{t, k.Store}.want(desk.Created, 900, `{"full_name":"Pulled"}`)
	healthy(t, k.Store)
	k.compacted(t)
	trimmed(t, table.Path(k.dir))
	return table.Path(k.dir)
}

// seat is what brings a ticket to the door; brought again it is answered without being written down.
func seat(i int) door.Attempt {
	return door.Attempt{Event: 1, Code: fmt.Sprintf("SEAT-%d", i), Door: "north", Nonce: fmt.Sprint("seat ", i)}
}

func seats(n int) (all []door.Attempt) {
	for i := range n {
		all = append(all, seat(i))
	}
	return all
}

// trimmed cuts off what a file has in stock, and wants a row in each of its buckets but those of kinds that are like others. A store that was stopped has
// nothing gathered: kv/engine damages that in its own tests.
func trimmed(t *testing.T, path string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	err = db.View(func(tx *bbolt.Tx) error {
		size = tx.Size()
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			if key, _ := b.Cursor().First(); key == nil && !bytes.HasPrefix(name, []byte("kind:")) && string(name) != "gathered" {
				t.Errorf("bucket %s of the store is empty", name)
			}
			return nil
		})
	})
	if err := errors.Join(err, db.Close(), os.Truncate(path, size)); err != nil {
		t.Fatal(err)
	}
}

// question is something that a store is asked.
type question struct {
	name    string
	ask     func(s *kv.Store) (any, error)
	without bool // the answer may leave out what is damaged, and count that it does: nobody counts or decides by it
}

// questions are what a sound store can be asked, about all that it holds.
func questions(s *kv.Store) (all []question) {
	add := func(name string, ask func(s *kv.Store) (any, error)) {
		all = append(all, question{name: name, ask: ask})
	}
	me := auth.Operator()
	all = append(all,
		question{"keys", func(s *kv.Store) (any, error) { return anyOf(s.Keys.Keys(me)) }, true},
		question{"venues", func(s *kv.Store) (any, error) { return anyOf(s.Venues.Venues(me)) }, true})
	add("pulled", func(s *kv.Store) (any, error) { return anyOf(s.Laptop.Mirror.Pulled(me, record.Person)) })
	add("status", func(s *kv.Store) (any, error) { return anyOf(s.Door.Status(me, 1)) })
	add("databases", func(s *kv.Store) (any, error) { return anyOf(s.Docs.Databases(me)) })
	for _, church := range []int64{1, 2} {
		where := []desk.Where{{Field: "church_id", In: []any{church}}}
		add(fmt.Sprint("people of church ", church), func(s *kv.Store) (any, error) {
			return listOf(s, desk.Query{Surface: record.V1, Kind: record.Person, Limit: 1, Where: where})
		})
	}
	for _, k := range record.Kinds() {
		for _, limit := range []int{1, 1 << 20} { // the count alone, almost, and everything
			add("list "+k.Name, func(s *kv.Store) (any, error) {
				return listOf(s, desk.Query{Surface: record.Admin, Kind: k, Limit: limit})
			})
		}
		ids, err := s.Desk.IDs(me, k)
		if err != nil {
			continue // a kind that only other answers show
		}
		for _, id := range append(ids, record.Int(1<<40)) {
			t := desk.Target{Surface: record.Admin, Kind: k, ID: id}
			add("retrieve "+k.FormatID(id), func(s *kv.Store) (any, error) { return replyOf(s, t) })
			if !k.Fact && len(all)%7 == 0 { // a sample
				add("history "+k.FormatID(id), func(s *kv.Store) (any, error) { return pastOf(s, t) })
			}
		}
	}
	add("log", func(s *kv.Store) (any, error) { return logOf(s) })
	add("doubles", func(s *kv.Store) (any, error) { return anyOf(s.Door.DoubleEntries(me, 0, desk.Part{Limit: 100})) })
	add("identity", func(s *kv.Store) (any, error) {
		return []any{s.Tables.Identity.Node(), s.Tables.Identity.Realm(), s.Tables.Epochs.Present(), s.Tables.Commits.Seq()}, nil
	})
	for _, name := range []string{"notes", "church-1", "event-1"} {
		add("feed of "+name, func(s *kv.Store) (any, error) { return feedOf(s, name) })
		all = append(all, documents(s, name)...)
	}
	again := seat(0)
	again.Nonce = "" // a refusal
	for _, a := range append([]door.Attempt{again, seat(140)}, seats(20)...) {
		add("bring "+a.Code, func(s *kv.Store) (any, error) {
			d, err := s.Door.CheckIn(me, a)
			return d.Outcome, err
		})
	}
	return all
}

func anyOf[T any](v T, err error) (any, error) { return v, err }

func listOf(s *kv.Store, q desk.Query) (any, error) {
	page, err := s.Desk.List(auth.Operator(), q)
	return []any{page.Count, string(page.Results)}, err
}

func replyOf(s *kv.Store, t desk.Target) (any, error) {
	r, err := s.Desk.Retrieve(auth.Operator(), t)
	return []any{string(r.JSON), r.ID, r.Revision}, err
}

// pastOf is a record's history but its kind, which is no text.
func pastOf(s *kv.Store, t desk.Target) (any, error) {
	all, err := s.Desk.History(auth.Operator(), t, true)
	var bodies []string
	for i := range all {
		bodies = append(bodies, string(all[i].Body))
		all[i].Kind, all[i].Body = nil, nil
	}
	return []any{all, bodies}, err
}

// logOf is the change log, its kinds by name.
func logOf(s *kv.Store) (any, error) {
	all, err := kvtest.ChangesOf(s, 0)
	var rows []string
	for _, c := range all {
		rows = append(rows, fmt.Sprint(c.Kind.Name, c.ID, c.Seq, c.Revision, c.Deleted, c.Branched))
	}
	return rows, err
}

// feedOf reads all changes of a database.
func feedOf(s *kv.Store, name string) (any, error) {
	db, err := s.Docs.Database(auth.Operator(), name)
	if err != nil {
		return nil, err
	}
	page, _, err := db.Changes(docs.Feed{Limit: docs.DocPage})
	return page, err
}

// documents asks for a database's list, and for each document that a sound one lists.
func documents(sound *kv.Store, name string) []question {
	list := func(s *kv.Store) ([]string, error) {
		db, err := s.Docs.Database(auth.Operator(), name)
		if err != nil {
			return nil, err
		}
		return db.List(docs.Range{Limit: docs.DocPage})
	}
	all := []question{{name: "list of " + name, ask: func(s *kv.Store) (any, error) { return anyOf(list(s)) }}}
	ids, err := list(sound)
	if err != nil {
		panic(err)
	}
	for _, id := range ids {
		all = append(all, question{name: id, ask: func(s *kv.Store) (any, error) { return documentOf(s, name, id) }})
	}
	return all
}

// documentOf reads a document with its attachments.
func documentOf(s *kv.Store, name, id string) (any, error) {
	db, err := s.Docs.Database(auth.Operator(), name)
	if err != nil {
		return nil, err
	}
	d, err := db.Read(id, docs.Ask{Leaves: true})
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	for _, a := range d.Revisions[0].Attachments {
		err = errors.Join(err, db.Blob(a.SHA256, &content))
	}
	if err != nil {
		return nil, err // of a blob some may have been read before
	}
	return []any{d.ID, d.Seq, d.Deleted, d.Revisions, d.Tree.Nodes(), content.Bytes()}, nil
}

// asText is an answer as text.
func asText(answer any) string {
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// rawRows is all that a file holds, as the library below the store reads them.
func rawRows(path string) (rows []byte, err error) {
	defer func() {
		if found := recover(); found != nil {
			err = fmt.Errorf("reading it panics: %v", found)
		}
	}()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, NoFreelistSync: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // it was only read
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			rows = fmt.Appendf(rows, "%q\n", name)
			return b.ForEach(func(key, value []byte) error {
				rows = fmt.Appendf(rows, "%x %x\n", key, value)
				return nil
			})
		})
	})
	return rows, err
}
