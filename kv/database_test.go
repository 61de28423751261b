package kv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/table"
)

func TestAHandleEndsWithItsKey(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	key, secret := kvtest.Key(t, s, "denomination", "sync:*")
	p, err := s.Keys.Login(key, secret)
	if err != nil {
		t.Fatal(err)
	}
	db := by(s, p, "notes")
	told := make(chan error)
	go func() { told <- db.Await(t.Context(), 0) }()
	if err := s.Keys.RevokeKey(auth.Operator(), p.Key()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Keys.Login(key, secret); !errors.Is(err, table.ErrRevoked) || !errors.Is(err, table.ErrBadLogin) {
		t.Errorf("Login of a revoked key = %v", err)
	}
	if _, err := s.Keys.Login(key, secret+"x"); errors.Is(err, table.ErrRevoked) || !errors.Is(err, table.ErrBadLogin) {
		t.Errorf("Login of a revoked key with another secret = %v", err)
	}
	for name, err := range map[string]error{
		"Info":  second(db.Info()),
		"Write": second(db.Write([]merge.DocWrite{{ID: "x"}})),
		"Local": second(db.PutLocal("x", []byte(`{}`), docs.Whatever)),
	} {
		if !errors.Is(err, table.ErrRevoked) {
			t.Errorf("%s by a revoked key = %v", name, err)
		}
	}
	noted(t, s, "a", `{}`) // what is awaited happens, and is not for this key
	if err := <-told; !errors.Is(err, table.ErrRevoked) {
		t.Errorf("Await by a revoked key = %v", err)
	}
}

// TestAHandleShowsNothingOfAfterItsKeyWasJudged: what is written right after the judgement is not in the View that is shown.
func TestAHandleShowsNothingOfAfterItsKeyWasJudged(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	p := kvtest.Login(t, s, "denomination", "sync:*")
	judged := func() {}
	set := docs.New(s.Tables, func(v *table.View, p auth.Principal) (auth.Principal, error) {
		defer judged()
		return s.Keys.StandingIn(v, p)
	})
	db, err := set.Database(p, "notes")
	if err != nil {
		t.Fatal(err)
	}
	judged = func() { noted(t, s, "later", `{}`) }
	if page, _, err := db.Changes(docs.Feed{Limit: 10}); err != nil || len(page) > 0 {
		t.Errorf("the feed shows %v, %v", page, err)
	}
}

func TestALocalDocumentIsItsKeysOwn(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	ana, bia := kvtest.Login(t, s, "denomination", "sync:*"), kvtest.Login(t, s, "denomination", "sync:*")
	for want := range uint64(3) {
		if n, err := by(s, ana, "notes").PutLocal("checkpoint", fmt.Appendf(nil, `{"n":%d}`, want), docs.Whatever); err != nil || n != want+1 {
			t.Fatalf("PutLocal = %d, %v", n, err)
		}
	}
	if body, n, err := by(s, ana, "notes").Local("checkpoint"); err != nil || string(body) != `{"n":2}` || n != 3 {
		t.Errorf("Local = %s, %d, %v", body, n, err)
	}
	if _, _, err := by(s, bia, "notes").Local("checkpoint"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Local of another key = %v", err)
	}
	if _, err := by(s, bia, "notes").PutLocal("checkpoint", nil, docs.Whatever); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("deleting another key's = %v", err)
	}
	if _, err := by(s, ana, "notes").PutLocal("checkpoint", nil, docs.Whatever); err != nil {
		t.Errorf("deleting one's own = %v", err)
	}
	for id, want := range map[string]error{"_PaHYpGTpn47T1TUJTYVTg==": nil, "a/b": nil, "": merge.ErrDocument, "a\x00": merge.ErrDocument} {
		if _, err := by(s, ana, "notes").PutLocal(id, []byte(`{}`), docs.Whatever); !errors.Is(err, want) {
			t.Errorf("PutLocal(%q) = %v, want %v", id, err, want)
		}
	}
	if _, _, err := by(s, ana, "notes").Local("checkpoint"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Local of a deleted one = %v", err)
	}
	if db, err := infoOf(s, ana, "notes"); err != nil || db.Seq != 0 || db.Docs != 0 {
		t.Errorf("Info = %+v, %v, want no change", db, err)
	}
}

func TestAwaitingAChange(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	told := make(chan error)
	notes := of(s)
	go func() { told <- notes.Await(context.Background(), 0) }()
	noted(t, s, "a", `{}`)
	if err := <-told; err != nil {
		t.Error(err)
	}
	db, err := notes.Info()
	if err != nil {
		t.Fatal(err)
	}
	go func() { told <- notes.Await(context.Background(), db.Seq) }()
	if err := s.Docs.DeleteDatabase(auth.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
	if err := <-told; !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Await of a database that goes = %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	newNotes(t, s)
	if err := notes.Await(ended, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("Await of an ended context = %v", err)
	}
}

func TestWhatLiesBeyondASequence(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	for i := range 5 {
		noted(t, s, fmt.Sprint("doc", i), `{}`)
	}
	noted(t, s, "doc1", `{"n":2}`)
	for since, want := range map[uint64]int{0: 5, 1: 4, 2: 4, 3: 3, 5: 1, 6: 0, 99: 0} {
		if n, err := of(s).Pending(since); err != nil || n != want {
			t.Errorf("Pending(%d) = %d, %v, want %d", since, n, err, want)
		}
	}
}

// TestAPageOfLargeBodiesIsShort reads bodies of a mebibyte: a page of them ends long before its limit, and goes on after it.
func TestAPageOfLargeBodiesIsShort(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	var ids []string
	for i := range 12 {
		ids = append(ids, fmt.Sprint("doc", i))
		noted(t, s, ids[i], fmt.Sprintf(`{"a":%q}`, bytes.Repeat([]byte{'a' + byte(i)}, 1<<20)))
	}
	for name, f := range map[string]docs.Feed{"up": {}, "down": {Descending: true}, "named": {IDs: ids}} {
		f.Limit, f.Bodies = 100, true
		pages, read := 0, 0
		for more := true; more; pages++ {
			var page []docs.DocChange
			var err error
			if page, more, err = of(s).Changes(f); err != nil || len(page) == 0 {
				t.Fatalf("%s: Changes(%+v) = %d, %v", name, f, len(page), err)
			}
			for _, c := range page {
				if c.Winner.Revision != c.Leaves[0].Revision || len(c.Winner.Body) < 1<<20 {
					t.Errorf("%s: %s comes with %s of %d bytes", name, c.ID, c.Winner.Revision, len(c.Winner.Body))
				}
			}
			read += len(page)
			if last := page[len(page)-1].Seq; f.Descending {
				f.Before = last
			} else {
				f.Since = last
			}
		}
		if read != 12 || pages < 2 || pages > 4 {
			t.Errorf("%s: %d changes in %d pages", name, read, pages)
		}
	}
}

// TestAWaitOfOneDatabaseSleepsThroughOthers counts what a waiter looks at while another database changes.
func TestAWaitOfOneDatabaseSleepsThroughOthers(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	if err := s.Docs.CreateDatabase(auth.Operator(), "other"); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	told := make(chan error)
	go func() { told <- of(s).Await(ctx, 0) }()
	kv.AwaitListener(s, "notes")
	for i := range 50 {
		if _, err := by(s, auth.Operator(), "other").Write([]merge.DocWrite{{ID: fmt.Sprint(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if rung := kv.Rung(s, "notes"); rung {
		t.Error("a change of another database woke the waiter")
	}
	end()
	if err := <-told; !errors.Is(err, context.Canceled) {
		t.Errorf("Await = %v", err)
	}
	if n := kv.Listeners(s); n != 0 {
		t.Errorf("%d bells are left that nobody listens to", n)
	}
}
