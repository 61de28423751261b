package kv_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// withNotes opens a store with a free database.
func withNotes(t testing.TB) *kv.Store {
	t.Helper()
	s := kvtest.Open(t)
	newNotes(t, s)
	return s
}

func newNotes(t testing.TB, s *kv.Store) {
	t.Helper()
	if err := s.Docs.CreateDatabase(auth.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
}

// of is the database of notes as the operator uses it; it must be there.
func of(s *kv.Store) *docs.Database { return by(s, auth.Operator(), "notes") }

// by is a database as somebody uses it. Where it cannot be opened, no method of what it answers may be called.
func by(s *kv.Store, p auth.Principal, name string) *docs.Database {
	db, err := s.Docs.Database(p, name)
	if err != nil {
		panic(err)
	}
	return db
}

func infoOf(s *kv.Store, p auth.Principal, name string) (docs.DatabaseInfo, error) {
	db, err := s.Docs.Database(p, name)
	if err != nil {
		return docs.DatabaseInfo{}, err
	}
	return db.Info()
}

// noted writes a document, on its winner where there is one, and answers its revision.
func noted(t testing.TB, s *kv.Store, id, body string, attachments ...merge.Attachment) rev.ID {
	t.Helper()
	w := merge.DocWrite{ID: id, Body: []byte(body), Attachments: attachments}
	if doc, err := of(s).Read(id, docs.Ask{}); err == nil {
		w.Parent = doc.Revisions[0].Revision
	}
	r := writeFree(t, s, w)
	if r.Err != nil {
		t.Fatalf("write %s: %v", id, r.Err)
	}
	return r.Revision
}

func TestFreeDatabasesHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := kvtest.Open(t)
	for name, want := range map[string]error{
		"notes": nil, "a": nil, "a0_$()+-/b": nil, "records2": nil, "events": nil, strings.Repeat("a", 238): nil,
		"": docs.ErrDatabaseName, "Notes": docs.ErrDatabaseName, "1a": docs.ErrDatabaseName, "_users": docs.ErrDatabaseName,
		"a b": docs.ErrDatabaseName, "é": docs.ErrDatabaseName, "a\n": docs.ErrDatabaseName, strings.Repeat("a", 239): docs.ErrDatabaseName,
		"records": table.ErrConflict, "reference": table.ErrConflict, "reference-finance": table.ErrConflict,
		"church-1": auth.ErrForbidden, "church-01": auth.ErrForbidden, "event-x": auth.ErrForbidden,
	} {
		if err := s.Docs.CreateDatabase(auth.Operator(), name); !errors.Is(err, want) {
			t.Errorf("CreateDatabase(%q) = %v, want %v", name, err, want)
		}
		is := want
		switch {
		case name == "church-1" || errors.Is(want, table.ErrConflict):
			is = nil // a replicator fills the database of a church before it has the church
		case errors.Is(want, auth.ErrForbidden):
			is = table.ErrNotFound
		}
		if _, err := s.Docs.Database(auth.Operator(), name); !errors.Is(err, is) {
			t.Errorf("Database(%q) = %v, want %v", name, err, is)
		}
	}
	if err := s.Docs.CreateDatabase(auth.Operator(), "notes"); !errors.Is(err, table.ErrConflict) {
		t.Errorf("CreateDatabase of one that is there = %v, want a conflict", err)
	}
	all, err := s.Docs.Databases(auth.Operator())
	names := []string{}
	for _, db := range all {
		names = append(names, db.Name)
	}
	if err != nil || len(all) != 6+3 || !slices.IsSorted(names) {
		t.Errorf("Databases = %v, %v", names, err)
	}
	healthy(t, s)
}

func TestADeletedDatabaseIsGoneAndItsCursorsLieBehindTheNext(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	if err := s.Docs.CreateDatabase(auth.Operator(), "other"); err != nil {
		t.Fatal(err)
	}
	for i := range 700 { // more than one operation sweeps
		noted(t, s, fmt.Sprint("doc", i), `{}`)
	}
	if _, err := of(s).PutLocal("checkpoint", []byte(`{}`), docs.Whatever); err != nil {
		t.Fatal(err)
	}
	blob := stored(t, s, "bytes")
	old := of(s)
	before, err := old.Info()
	if err != nil || before.Docs != 700 {
		t.Fatalf("Info = %+v, %v", before, err)
	}
	if err := s.Docs.DeleteDatabase(auth.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
	if err := s.Docs.DeleteDatabase(auth.Operator(), "notes"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("DeleteDatabase of one that is gone = %v", err)
	}
	if _, err := old.Write([]merge.DocWrite{{ID: "a"}}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Write into one that is gone = %v", err)
	}
	if _, err := s.Docs.Database(auth.Operator(), "notes"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Database of one that is gone = %v", err)
	}
	report, err := s.Files.Verify(auth.Operator(), nil)
	if err != nil || report.Rows > 10 || report.Damaged > 0 {
		t.Errorf("Verify = %+v, %v, want none of its rows", report, err)
	}
	newNotes(t, s)
	if err := of(s).Blob(blob.SHA256, &strings.Builder{}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Blob of the one before = %v", err)
	}
	noted(t, s, "a", `{}`)
	page, _, err := of(s).Changes(docs.Feed{Since: before.Seq, Limit: 10})
	if err != nil || len(page) != 1 || page[0].ID != "a" {
		t.Errorf("Changes from a cursor of the one before = %+v, %v", page, err)
	}
}

// cutShort opens a store in which a crash has interrupted the deletion of the database of notes after its first operation.
func cutShort(t *testing.T, c table.Config) *kv.Store {
	t.Helper()
	s := reopenable(t, c)
	newNotes(t, s)
	for i := range 700 { // more than one operation sweeps
		noted(t, s, fmt.Sprint("doc", i), `{"name":"Ana"}`)
	}
	err := s.Tables.Do(func(o *table.Tx) error {
		o.Delete(table.FreeBucket, []byte("notes"))
		o.Put(table.FreeBucket, []byte{0, 1}, nil)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// leftOfFree counts the rows of all databases of documents that are no records.
func leftOfFree(t *testing.T, s *kv.Store) (rows int) {
	t.Helper()
	for _, bucket := range []string{"free_doc", "free_body", "free_log"} {
		rows += kv.Rows(t, s, bucket)
	}
	return rows
}

// TestADeletionThatWasCutShortIsFinished at the next start, beside serving, also if that start is short.
func TestADeletionThatWasCutShortIsFinished(t *testing.T) {
	t.Parallel()
	c := table.Config{Dir: folder(t)}
	s := cutShort(t, c)
	if leftOfFree(t, s) != 3*700 {
		t.Fatalf("%d rows before the start: the test shows nothing", leftOfFree(t, s))
	}
	closed(t, s)
	closed(t, reopenable(t, c))
	s = kvtest.OpenConfig(t, c)
	for late := time.Now().Add(10 * time.Second); leftOfFree(t, s) > 0; runtime.Gosched() {
		if time.Now().After(late) {
			t.Fatalf("%d rows of the deleted database are left", leftOfFree(t, s))
		}
	}
	healthy(t, s)
}

// TestADeletionThatWasCutShortIsFinishedByTheNext: the caller who was told of a failure asks again.
func TestADeletionThatWasCutShortIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	s := cutShort(t, table.Config{Dir: folder(t)})
	if err := s.Docs.DeleteDatabase(auth.Operator(), "notes"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("DeleteDatabase again = %v, want not found", err)
	}
	if n := leftOfFree(t, s); n != 0 {
		t.Errorf("%d rows of the deleted database are left", n)
	}
	healthy(t, s)
	closed(t, s)
}

func TestFreeDatabasesAskForTheirPermissions(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	kvtest.Create(t, s, record.Regional, `{"name":"A"}`)
	kvtest.Create(t, s, record.Church, `{"name":"A"}`)
	newEvent(t, s, "")
	for _, c := range []struct {
		level                   string
		permissions             []string
		rules, writes, mayReads bool
	}{
		{"denomination", []string{"admin:*"}, true, false, false},
		{"denomination", []string{"*:*"}, true, true, true},
		{"denomination", []string{"admin:GET", "admin:POST", "admin:PUT"}, false, false, false},
		{"denomination", nil, false, false, false},
		{"denomination", []string{"sync:GET"}, false, false, true},
		{"denomination", []string{"sync:POST"}, false, false, false},
		{"regional:1", []string{"*:*"}, false, false, false},
		{"church:1", []string{"admin:*", "sync:*"}, false, false, false},
		{"event:1", []string{"sync:*"}, false, false, false},
	} {
		p := kvtest.Login(t, s, c.level, c.permissions...)
		asks := map[string]ask{
			"create": {c.rules, s.Docs.CreateDatabase(p, "more")},
			"delete": {c.rules, s.Docs.DeleteDatabase(p, "more")},
			"open":   {c.mayReads, second(s.Docs.Database(p, "notes"))},
		}
		all, err := s.Docs.Databases(p)
		if listed := slices.ContainsFunc(all, docs.DatabaseInfo.Free); listed != c.mayReads {
			t.Errorf("Databases of %s %v = %v, %v, want free ones %v", c.level, c.permissions, all, err, c.mayReads)
		}
		if !strings.HasPrefix(c.level, "denomination") { // which databases there are is not told
			there, not := second(s.Docs.Database(p, "notes")), second(s.Docs.Database(p, "none"))
			if !errors.Is(not, auth.ErrForbidden) || there.Error() != not.Error() {
				t.Errorf("Database of %s = %v where it is there, %v where it is not", c.level, there, not)
			}
		}
		if c.mayReads {
			db := by(s, p, "notes")
			asks["write"] = ask{c.writes, second(db.Write([]merge.DocWrite{{ID: "x"}}))}
			asks["blob"] = ask{c.writes, second(db.PutBlob(strings.NewReader("x")))}
			asks["local"] = ask{true, second(db.PutLocal("x", []byte(`{}`), docs.Whatever))}
			asks["list"] = ask{true, second(db.List(docs.Range{Limit: 1}))}
			asks["diff"] = ask{true, second(db.Missing([]merge.Revs{{ID: "x"}}))}
		}
		for name, a := range asks {
			if got := !errors.Is(a.err, auth.ErrForbidden); got != a.want {
				t.Errorf("%s by %s %v = %v, want allowed %v", name, c.level, c.permissions, a.err, a.want)
			}
		}
	}
}

// ask is what somebody asked for and whether it should be allowed.
type ask struct {
	want bool
	err  error
}

func TestTwoDatabasesHaveNothingInCommon(t *testing.T) {
	t.Parallel()
	s, clock := opened(t)
	newNotes(t, s)
	if err := s.Docs.CreateDatabase(auth.Operator(), "other"); err != nil {
		t.Fatal(err)
	}
	blob := stored(t, s, "bytes")
	noted(t, s, "a", `{}`)
	p := kvtest.Login(t, s, "denomination", "sync:*")
	clock.Move(time.Second)
	results, err := by(s, p, "other").Write([]merge.DocWrite{{ID: "a", Body: []byte(`{"n":1}`)}, {ID: "b"}})
	if err != nil || results[0].Err != nil || results[0].Revision.Generation != 1 {
		t.Fatalf("Write = %+v, %v, want a first revision", results, err)
	}
	if err := by(s, p, "other").Blob(blob.SHA256, &strings.Builder{}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Blob of another database = %v", err)
	}
	doc, err := by(s, p, "other").Read("a", docs.Ask{})
	if n := doc.Tree.Winner(); err != nil || n.Key != p.Key() || n.At != sunday.Add(time.Second).UnixMicro() {
		t.Errorf("Read = %+v, %v, want it to tell who wrote it, and when", n, err)
	}
	for name, number := range map[string]int{"notes": 1, "other": 2} {
		db, err := infoOf(s, p, name)
		page, _, _ := by(s, p, name).Changes(docs.Feed{Limit: 10})
		if err != nil || db.Docs != number || len(page) != number || !db.Created.Equal(sunday) {
			t.Errorf("Info(%s) = %+v, %v, with changes %+v", name, db, err, page)
		}
	}
	if err := s.Docs.DeleteDatabase(auth.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
	if db, err := infoOf(s, p, "other"); err != nil || db.Docs != 2 {
		t.Errorf("Info of the one that is left = %+v, %v", db, err)
	}
	healthy(t, s)
}

func second[T any](_ T, err error) error { return err }

func TestDocumentsThatAreNone(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	deep := strings.Repeat(`{"a":`, 1_001) + `1` + strings.Repeat(`}`, 1_001)
	for _, c := range []struct {
		name string
		in   merge.DocWrite
		want error
	}{
		{"no id", merge.DocWrite{}, merge.ErrDocument},
		{"a reserved id", merge.DocWrite{ID: "_x"}, merge.ErrDocument},
		{"a local one", merge.DocWrite{ID: "_local/x"}, merge.ErrDocument},
		{"a design document without a name", merge.DocWrite{ID: "_design/"}, merge.ErrDocument},
		{"a zero byte", merge.DocWrite{ID: "a\x00b"}, merge.ErrDocument},
		{"no UTF-8", merge.DocWrite{ID: "a\xff"}, merge.ErrDocument},
		{"a long id", merge.DocWrite{ID: strings.Repeat("x", 8193)}, merge.ErrDocument},
		{"no object", merge.DocWrite{ID: "x", Body: []byte(`[]`)}, merge.ErrDocument},
		{"nothing", merge.DocWrite{ID: "x", Body: []byte(``)}, merge.ErrDocument},
		{"half an object", merge.DocWrite{ID: "x", Body: []byte(`{"a":1`)}, merge.ErrDocument},
		{"half a list", merge.DocWrite{ID: "x", Body: []byte(`{"a":[1`)}, merge.ErrDocument},
		{"a name twice", merge.DocWrite{ID: "x", Body: []byte(`{"a":{"b":1,"\u0062":2}}`)}, merge.ErrDocument},
		{"two objects", merge.DocWrite{ID: "x", Body: []byte(`{}{}`)}, merge.ErrDocument},
		{"a reserved member", merge.DocWrite{ID: "x", Body: []byte(`{"_a":1}`)}, merge.ErrDocument},
		{"too deep", merge.DocWrite{ID: "x", Body: []byte(deep)}, merge.ErrDocument},
		{"too large", merge.DocWrite{ID: "x", Body: []byte(`{"a":"` + strings.Repeat("x", merge.MaxDoc) + `"}`)}, entry.ErrTooLarge},
		{"no path", merge.DocWrite{ID: "x", Path: []rev.ID{{Generation: 3}, {Generation: 1}}}, merge.ErrDocument},
		{"an empty path", merge.DocWrite{ID: "x", Path: []rev.ID{}}, merge.ErrDocument},
		{"a nameless attachment", merge.DocWrite{ID: "x", Attachments: []merge.Attachment{{}}}, merge.ErrDocument},
		{"a reserved name of an attachment", merge.DocWrite{ID: "x", Attachments: []merge.Attachment{{Name: "_a"}}}, merge.ErrDocument},
		{"a long type of an attachment", merge.DocWrite{ID: "x", Attachments: []merge.Attachment{{Name: "a", Type: strings.Repeat("x", 1025)}}}, merge.ErrDocument},
		{"an attachment twice", merge.DocWrite{ID: "x", Attachments: []merge.Attachment{{Name: "a"}, {Name: "a"}}}, merge.ErrDocument},
		{"an attachment without bytes", merge.DocWrite{ID: "x", Attachments: []merge.Attachment{{Name: "a"}}}, docs.ErrNoBlob},
		{"a member within that begins with an underscore", merge.DocWrite{ID: "x", Body: []byte(`{"a":{"_b":1}}`)}, nil},
	} {
		if r := writeFree(t, s, c.in); !errors.Is(r.Err, c.want) {
			t.Errorf("write of %s = %v, want %v", c.name, r.Err, c.want)
		}
	}
	if _, err := opens(t, s, auth.Operator(), "notes").Write(make([]merge.DocWrite, table.MaxRows+1)); err == nil {
		t.Error("more documents than an operation takes were written")
	}
	if db, err := of(s).Info(); err != nil || db.Docs != 1 {
		t.Errorf("Info = %+v, %v, want the last one alone", db, err)
	}
}
