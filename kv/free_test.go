package kv_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
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
	if err := s.CreateFreeDatabase(kv.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
}

// noted writes a document, on its winner where there is one, and answers its revision.
func noted(t testing.TB, s *kv.Store, id, body string, attachments ...kv.Attachment) record.Revision {
	t.Helper()
	w := kv.FreeWrite{ID: id, Body: []byte(body), Attachments: attachments}
	if doc, err := s.ReadFree(kv.Operator(), "notes", id, kv.FreeAsk{}); err == nil {
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
		"records": kv.ErrForbidden, "reference": kv.ErrForbidden, "reference-finance": kv.ErrForbidden,
		"church-1": kv.ErrForbidden, "event-x": kv.ErrForbidden,
	} {
		if err := s.CreateFreeDatabase(kv.Operator(), name); !errors.Is(err, want) {
			t.Errorf("CreateFreeDatabase(%q) = %v, want %v", name, err, want)
		}
		if _, err := s.FreeDatabase(kv.Operator(), name); (err == nil) != (want == nil) || err != nil && !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("FreeDatabase(%q) = %v", name, err)
		}
	}
	if err := s.CreateFreeDatabase(kv.Operator(), "notes"); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("CreateFreeDatabase of one that is there = %v, want a conflict", err)
	}
	all, err := s.FreeDatabases(kv.Operator())
	names := []string{}
	for _, db := range all {
		names = append(names, db.Name)
	}
	if err != nil || len(all) != 6 || !slices.IsSorted(names) {
		t.Errorf("FreeDatabases = %v, %v", names, err)
	}
	healthy(t, s)
}

func TestADeletedDatabaseIsGoneAndItsCursorsLieBehindTheNext(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	if err := s.CreateFreeDatabase(kv.Operator(), "other"); err != nil {
		t.Fatal(err)
	}
	for i := range 700 { // more than one operation sweeps
		noted(t, s, fmt.Sprint("doc", i), `{}`)
	}
	if _, err := s.PutLocalDoc(kv.Operator(), "notes", "checkpoint", []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	blob := stored(t, s, "bytes")
	before, err := s.FreeDatabase(kv.Operator(), "notes")
	if err != nil || before.Docs != 700 {
		t.Fatalf("FreeDatabase = %+v, %v", before, err)
	}
	if err := s.DeleteFreeDatabase(kv.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteFreeDatabase(kv.Operator(), "notes"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("DeleteFreeDatabase of one that is gone = %v", err)
	}
	if r := writeFree(t, s, kv.FreeWrite{ID: "a"}); !errors.Is(r.Err, kv.ErrNotFound) {
		t.Errorf("WriteFree into one that is gone = %v", r.Err)
	}
	report, err := s.Verify(kv.Operator(), nil)
	if err != nil || report.Rows > 10 || report.Damaged > 0 {
		t.Errorf("Verify = %+v, %v, want none of its rows", report, err)
	}
	newNotes(t, s)
	if err := s.FreeBlob(kv.Operator(), "notes", blob.SHA256, &strings.Builder{}); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("FreeBlob of the one before = %v", err)
	}
	noted(t, s, "a", `{}`)
	page, err := s.FreeChanges(kv.Operator(), "notes", kv.FreeFeed{Since: before.Seq, Limit: 10})
	if err != nil || len(page) != 1 || page[0].ID != "a" {
		t.Errorf("FreeChanges from a cursor of the one before = %+v, %v", page, err)
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
		{"event:1", []string{"sync:POST"}, false, true, false},
	} {
		p := kvtest.Login(t, s, c.level, c.permissions...)
		asks := map[string]struct {
			want bool
			err  error
		}{
			"create": {c.rules, s.CreateFreeDatabase(p, "more")},
			"delete": {c.rules, s.DeleteFreeDatabase(p, "more")},
			"write":  {c.writes, second(s.WriteFree(p, "notes", []kv.FreeWrite{{ID: "x"}}))},
			"blob":   {c.writes, second(s.PutFreeBlob(p, "notes", strings.NewReader("x")))},
			"local":  {c.writes, second(s.PutLocalDoc(p, "notes", "x", []byte(`{}`)))},
			"all":    {c.mayReads, second(s.FreeDatabases(p))},
			"one":    {c.mayReads, second(s.FreeDatabase(p, "notes"))},
			"list":   {c.mayReads, second(s.ListFree(p, "notes", kv.FreeRange{Limit: 1}))},
			"feed":   {c.mayReads, second(s.FreeChanges(p, "notes", kv.FreeFeed{Limit: 1}))},
			"diff":   {c.mayReads, second(s.MissingFree(p, "notes", []kv.FreeRevs{{ID: "x"}}))},
			"await":  {c.mayReads, s.AwaitFree(t.Context(), p, "notes", 0)},
		}
		for name, a := range asks {
			if got := !errors.Is(a.err, kv.ErrForbidden); got != a.want {
				t.Errorf("%s by %s %v = %v, want allowed %v", name, c.level, c.permissions, a.err, a.want)
			}
		}
	}
}

func TestTwoDatabasesHaveNothingInCommon(t *testing.T) {
	t.Parallel()
	s, clock := opened(t)
	newNotes(t, s)
	if err := s.CreateFreeDatabase(kv.Operator(), "other"); err != nil {
		t.Fatal(err)
	}
	blob := stored(t, s, "bytes")
	noted(t, s, "a", `{}`)
	p := kvtest.Login(t, s, "event:1", "sync:*")
	clock.Move(time.Second)
	results, err := s.WriteFree(p, "other", []kv.FreeWrite{{ID: "a", Body: []byte(`{"n":1}`)}, {ID: "b"}})
	if err != nil || results[0].Err != nil || results[0].Revision.Generation != 1 {
		t.Fatalf("WriteFree = %+v, %v, want a first revision", results, err)
	}
	if err := s.FreeBlob(p, "other", blob.SHA256, &strings.Builder{}); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("FreeBlob of another database = %v", err)
	}
	doc, err := s.ReadFree(p, "other", "a", kv.FreeAsk{})
	if n := doc.Tree.Winner(); err != nil || n.Key != p.Key() || n.At != sunday.Add(time.Second).UnixMicro() {
		t.Errorf("ReadFree = %+v, %v, want it to tell who wrote it, and when", n, err)
	}
	for name, docs := range map[string]int{"notes": 1, "other": 2} {
		db, err := s.FreeDatabase(p, name)
		page, _ := s.FreeChanges(p, name, kv.FreeFeed{Limit: 10})
		if err != nil || db.Docs != docs || len(page) != docs || !db.Created.Equal(sunday) {
			t.Errorf("FreeDatabase(%s) = %+v, %v, with changes %+v", name, db, err, page)
		}
	}
	if err := s.DeleteFreeDatabase(kv.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
	if db, err := s.FreeDatabase(p, "other"); err != nil || db.Docs != 2 {
		t.Errorf("FreeDatabase of the one that is left = %+v, %v", db, err)
	}
	healthy(t, s)
}

func second[T any](_ T, err error) error { return err }

func TestDocumentsThatAreNone(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	deep := strings.Repeat(`{"a":`, 300) + `1` + strings.Repeat(`}`, 300)
	for _, c := range []struct {
		name string
		in   kv.FreeWrite
		want error
	}{
		{"no id", kv.FreeWrite{}, kv.ErrDocument},
		{"a reserved id", kv.FreeWrite{ID: "_x"}, kv.ErrDocument},
		{"a local one", kv.FreeWrite{ID: "_local/x"}, kv.ErrDocument},
		{"a design document without a name", kv.FreeWrite{ID: "_design/"}, kv.ErrDocument},
		{"a zero byte", kv.FreeWrite{ID: "a\x00b"}, kv.ErrDocument},
		{"no UTF-8", kv.FreeWrite{ID: "a\xff"}, kv.ErrDocument},
		{"a long id", kv.FreeWrite{ID: strings.Repeat("x", 1025)}, kv.ErrDocument},
		{"no object", kv.FreeWrite{ID: "x", Body: []byte(`[]`)}, kv.ErrDocument},
		{"nothing", kv.FreeWrite{ID: "x", Body: []byte(``)}, kv.ErrDocument},
		{"half an object", kv.FreeWrite{ID: "x", Body: []byte(`{"a":1`)}, kv.ErrDocument},
		{"half a list", kv.FreeWrite{ID: "x", Body: []byte(`{"a":[1`)}, kv.ErrDocument},
		{"a name twice", kv.FreeWrite{ID: "x", Body: []byte(`{"a":{"b":1,"\u0062":2}}`)}, kv.ErrDocument},
		{"two objects", kv.FreeWrite{ID: "x", Body: []byte(`{}{}`)}, kv.ErrDocument},
		{"a reserved member", kv.FreeWrite{ID: "x", Body: []byte(`{"_a":1}`)}, kv.ErrDocument},
		{"too deep", kv.FreeWrite{ID: "x", Body: []byte(deep)}, kv.ErrDocument},
		{"too large", kv.FreeWrite{ID: "x", Body: []byte(`{"a":"` + strings.Repeat("x", kv.MaxFreeDoc) + `"}`)}, kv.ErrTooLarge},
		{"no path", kv.FreeWrite{ID: "x", Path: []record.Revision{{Generation: 3}, {Generation: 1}}}, kv.ErrDocument},
		{"an empty path", kv.FreeWrite{ID: "x", Path: []record.Revision{}}, kv.ErrDocument},
		{"a nameless attachment", kv.FreeWrite{ID: "x", Attachments: []kv.Attachment{{}}}, kv.ErrDocument},
		{"an attachment twice", kv.FreeWrite{ID: "x", Attachments: []kv.Attachment{{Name: "a"}, {Name: "a"}}}, kv.ErrDocument},
		{"an attachment without bytes", kv.FreeWrite{ID: "x", Attachments: []kv.Attachment{{Name: "a"}}}, kv.ErrNoBlob},
		{"a member within that begins with an underscore", kv.FreeWrite{ID: "x", Body: []byte(`{"a":{"_b":1}}`)}, nil},
	} {
		if r := writeFree(t, s, c.in); !errors.Is(r.Err, c.want) {
			t.Errorf("write of %s = %v, want %v", c.name, r.Err, c.want)
		}
	}
	if db, err := s.FreeDatabase(kv.Operator(), "notes"); err != nil || db.Docs != 1 {
		t.Errorf("FreeDatabase = %+v, %v, want the last one alone", db, err)
	}
}

func TestALocalDocumentIsItsKeysOwn(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	ana, bia := kvtest.Login(t, s, "denomination", "sync:*"), kvtest.Login(t, s, "denomination", "sync:*")
	for want := range uint64(3) {
		if n, err := s.PutLocalDoc(ana, "notes", "checkpoint", fmt.Appendf(nil, `{"n":%d}`, want)); err != nil || n != want+1 {
			t.Fatalf("PutLocalDoc = %d, %v", n, err)
		}
	}
	if body, n, err := s.LocalDoc(ana, "notes", "checkpoint"); err != nil || string(body) != `{"n":2}` || n != 3 {
		t.Errorf("LocalDoc = %s, %d, %v", body, n, err)
	}
	if _, _, err := s.LocalDoc(bia, "notes", "checkpoint"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("LocalDoc of another key = %v", err)
	}
	if _, err := s.PutLocalDoc(bia, "notes", "checkpoint", nil); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("deleting another key's = %v", err)
	}
	if _, err := s.PutLocalDoc(ana, "notes", "checkpoint", nil); err != nil {
		t.Errorf("deleting one's own = %v", err)
	}
	if _, _, err := s.LocalDoc(ana, "notes", "checkpoint"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("LocalDoc of a deleted one = %v", err)
	}
	if db, err := s.FreeDatabase(ana, "notes"); err != nil || db.Seq != 0 || db.Docs != 0 {
		t.Errorf("FreeDatabase = %+v, %v, want no change", db, err)
	}
}

func TestAwaitingAChange(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	told := make(chan error)
	go func() { told <- s.AwaitFree(context.Background(), kv.Operator(), "notes", 0) }()
	noted(t, s, "a", `{}`)
	if err := <-told; err != nil {
		t.Error(err)
	}
	db, err := s.FreeDatabase(kv.Operator(), "notes")
	if err != nil {
		t.Fatal(err)
	}
	go func() { told <- s.AwaitFree(context.Background(), kv.Operator(), "notes", db.Seq) }()
	if err := s.DeleteFreeDatabase(kv.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
	if err := <-told; !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("AwaitFree of a database that goes = %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	newNotes(t, s)
	if err := s.AwaitFree(ended, kv.Operator(), "notes", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("AwaitFree of an ended context = %v", err)
	}
}
