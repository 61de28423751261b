package kv_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/rev"
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
	if err := s.CreateDatabase(kv.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
}

// of is the database of notes as the operator uses it; it must be there.
func of(s *kv.Store) *kv.Database { return by(s, kv.Operator(), "notes") }

// by is a database as somebody uses it. Where it cannot be opened, no method of what it answers may be called.
func by(s *kv.Store, p kv.Principal, name string) *kv.Database {
	db, err := s.Database(p, name)
	if err != nil {
		panic(err)
	}
	return db
}

func infoOf(s *kv.Store, p kv.Principal, name string) (kv.DatabaseInfo, error) {
	db, err := s.Database(p, name)
	if err != nil {
		return kv.DatabaseInfo{}, err
	}
	return db.Info()
}

// noted writes a document, on its winner where there is one, and answers its revision.
func noted(t testing.TB, s *kv.Store, id, body string, attachments ...kv.Attachment) rev.ID {
	t.Helper()
	w := kv.DocWrite{ID: id, Body: []byte(body), Attachments: attachments}
	if doc, err := of(s).Read(id, kv.Ask{}); err == nil {
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
		"": kv.ErrDatabaseName, "Notes": kv.ErrDatabaseName, "1a": kv.ErrDatabaseName, "_users": kv.ErrDatabaseName,
		"a b": kv.ErrDatabaseName, "é": kv.ErrDatabaseName, "a\n": kv.ErrDatabaseName, strings.Repeat("a", 239): kv.ErrDatabaseName,
		"records": kv.ErrConflict, "reference": kv.ErrConflict, "reference-finance": kv.ErrConflict,
		"church-1": kv.ErrForbidden, "church-01": kv.ErrForbidden, "event-x": kv.ErrForbidden,
	} {
		if err := s.CreateDatabase(kv.Operator(), name); !errors.Is(err, want) {
			t.Errorf("CreateDatabase(%q) = %v, want %v", name, err, want)
		}
		is := want
		switch {
		case name == "church-1" || errors.Is(want, kv.ErrConflict):
			is = nil // a replicator fills the database of a church before it has the church
		case errors.Is(want, kv.ErrForbidden):
			is = kv.ErrNotFound
		}
		if _, err := s.Database(kv.Operator(), name); !errors.Is(err, is) {
			t.Errorf("Database(%q) = %v, want %v", name, err, is)
		}
	}
	if err := s.CreateDatabase(kv.Operator(), "notes"); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("CreateDatabase of one that is there = %v, want a conflict", err)
	}
	all, err := s.Databases(kv.Operator())
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
	if err := s.CreateDatabase(kv.Operator(), "other"); err != nil {
		t.Fatal(err)
	}
	for i := range 700 { // more than one operation sweeps
		noted(t, s, fmt.Sprint("doc", i), `{}`)
	}
	if _, err := of(s).PutLocal("checkpoint", []byte(`{}`), kv.Whatever); err != nil {
		t.Fatal(err)
	}
	blob := stored(t, s, "bytes")
	old := of(s)
	before, err := old.Info()
	if err != nil || before.Docs != 700 {
		t.Fatalf("Info = %+v, %v", before, err)
	}
	if err := s.DeleteDatabase(kv.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteDatabase(kv.Operator(), "notes"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("DeleteDatabase of one that is gone = %v", err)
	}
	if _, err := old.Write([]kv.DocWrite{{ID: "a"}}); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("Write into one that is gone = %v", err)
	}
	if _, err := s.Database(kv.Operator(), "notes"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("Database of one that is gone = %v", err)
	}
	report, err := s.Verify(kv.Operator(), nil)
	if err != nil || report.Rows > 10 || report.Damaged > 0 {
		t.Errorf("Verify = %+v, %v, want none of its rows", report, err)
	}
	newNotes(t, s)
	if err := of(s).Blob(blob.SHA256, &strings.Builder{}); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("Blob of the one before = %v", err)
	}
	noted(t, s, "a", `{}`)
	page, _, err := of(s).Changes(kv.Feed{Since: before.Seq, Limit: 10})
	if err != nil || len(page) != 1 || page[0].ID != "a" {
		t.Errorf("Changes from a cursor of the one before = %+v, %v", page, err)
	}
}

func TestFreeDatabasesAskForTheirPermissions(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
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
		{"church:1", []string{"admin:*", "sync:*"}, false, true, true},
		{"event:1", []string{"sync:GET"}, false, false, true},
		{"event:1", []string{"sync:POST"}, false, false, false},
	} {
		p := kvtest.Login(t, s, c.level, c.permissions...)
		asks := map[string]ask{
			"create": {c.rules, s.CreateDatabase(p, "more")},
			"delete": {c.rules, s.DeleteDatabase(p, "more")},
			"all":    {c.mayReads, second(s.Databases(p))},
			"open":   {c.mayReads, second(s.Database(p, "notes"))},
		}
		if c.mayReads {
			db := by(s, p, "notes")
			asks["write"] = ask{c.writes, second(db.Write([]kv.DocWrite{{ID: "x"}}))}
			asks["blob"] = ask{c.writes, second(db.PutBlob(strings.NewReader("x")))}
			asks["local"] = ask{true, second(db.PutLocal("x", []byte(`{}`), kv.Whatever))}
			asks["list"] = ask{true, second(db.List(kv.Range{Limit: 1}))}
			asks["diff"] = ask{true, second(db.Missing([]kv.Revs{{ID: "x"}}))}
		}
		for name, a := range asks {
			if got := !errors.Is(a.err, kv.ErrForbidden); got != a.want {
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
	if err := s.CreateDatabase(kv.Operator(), "other"); err != nil {
		t.Fatal(err)
	}
	blob := stored(t, s, "bytes")
	noted(t, s, "a", `{}`)
	p := kvtest.Login(t, s, "event:1", "sync:*")
	clock.Move(time.Second)
	results, err := by(s, p, "other").Write([]kv.DocWrite{{ID: "a", Body: []byte(`{"n":1}`)}, {ID: "b"}})
	if err != nil || results[0].Err != nil || results[0].Revision.Generation != 1 {
		t.Fatalf("Write = %+v, %v, want a first revision", results, err)
	}
	if err := by(s, p, "other").Blob(blob.SHA256, &strings.Builder{}); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("Blob of another database = %v", err)
	}
	doc, err := by(s, p, "other").Read("a", kv.Ask{})
	if n := doc.Tree.Winner(); err != nil || n.Key != p.Key() || n.At != sunday.Add(time.Second).UnixMicro() {
		t.Errorf("Read = %+v, %v, want it to tell who wrote it, and when", n, err)
	}
	for name, docs := range map[string]int{"notes": 1, "other": 2} {
		db, err := infoOf(s, p, name)
		page, _, _ := by(s, p, name).Changes(kv.Feed{Limit: 10})
		if err != nil || db.Docs != docs || len(page) != docs || !db.Created.Equal(sunday) {
			t.Errorf("Info(%s) = %+v, %v, with changes %+v", name, db, err, page)
		}
	}
	if err := s.DeleteDatabase(kv.Operator(), "notes"); err != nil {
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
		in   kv.DocWrite
		want error
	}{
		{"no id", kv.DocWrite{}, kv.ErrDocument},
		{"a reserved id", kv.DocWrite{ID: "_x"}, kv.ErrDocument},
		{"a local one", kv.DocWrite{ID: "_local/x"}, kv.ErrDocument},
		{"a design document without a name", kv.DocWrite{ID: "_design/"}, kv.ErrDocument},
		{"a zero byte", kv.DocWrite{ID: "a\x00b"}, kv.ErrDocument},
		{"no UTF-8", kv.DocWrite{ID: "a\xff"}, kv.ErrDocument},
		{"a long id", kv.DocWrite{ID: strings.Repeat("x", 8193)}, kv.ErrDocument},
		{"no object", kv.DocWrite{ID: "x", Body: []byte(`[]`)}, kv.ErrDocument},
		{"nothing", kv.DocWrite{ID: "x", Body: []byte(``)}, kv.ErrDocument},
		{"half an object", kv.DocWrite{ID: "x", Body: []byte(`{"a":1`)}, kv.ErrDocument},
		{"half a list", kv.DocWrite{ID: "x", Body: []byte(`{"a":[1`)}, kv.ErrDocument},
		{"a name twice", kv.DocWrite{ID: "x", Body: []byte(`{"a":{"b":1,"\u0062":2}}`)}, kv.ErrDocument},
		{"two objects", kv.DocWrite{ID: "x", Body: []byte(`{}{}`)}, kv.ErrDocument},
		{"a reserved member", kv.DocWrite{ID: "x", Body: []byte(`{"_a":1}`)}, kv.ErrDocument},
		{"too deep", kv.DocWrite{ID: "x", Body: []byte(deep)}, kv.ErrDocument},
		{"too large", kv.DocWrite{ID: "x", Body: []byte(`{"a":"` + strings.Repeat("x", kv.MaxDoc) + `"}`)}, kv.ErrTooLarge},
		{"no path", kv.DocWrite{ID: "x", Path: []rev.ID{{Generation: 3}, {Generation: 1}}}, kv.ErrDocument},
		{"an empty path", kv.DocWrite{ID: "x", Path: []rev.ID{}}, kv.ErrDocument},
		{"a nameless attachment", kv.DocWrite{ID: "x", Attachments: []kv.Attachment{{}}}, kv.ErrDocument},
		{"an attachment twice", kv.DocWrite{ID: "x", Attachments: []kv.Attachment{{Name: "a"}, {Name: "a"}}}, kv.ErrDocument},
		{"an attachment without bytes", kv.DocWrite{ID: "x", Attachments: []kv.Attachment{{Name: "a"}}}, kv.ErrNoBlob},
		{"a member within that begins with an underscore", kv.DocWrite{ID: "x", Body: []byte(`{"a":{"_b":1}}`)}, nil},
	} {
		if r := writeFree(t, s, c.in); !errors.Is(r.Err, c.want) {
			t.Errorf("write of %s = %v, want %v", c.name, r.Err, c.want)
		}
	}
	if db, err := of(s).Info(); err != nil || db.Docs != 1 {
		t.Errorf("Info = %+v, %v, want the last one alone", db, err)
	}
}
