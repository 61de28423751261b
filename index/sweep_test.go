package index_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doorward/index"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"

	zap "github.com/blevesearch/zapx/v17"
	"github.com/prometheus/client_golang/prometheus"
)

// holds tells whether any file below a folder holds a word: in its bytes, or in the dictionary of a segment, which is packed.
func holds(t *testing.T, dir, word string) (found bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found = found || bytes.Contains(kvtest.Lower(data), []byte(word)) || filepath.Ext(path) == ".zap" && packs(t, path, word)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// packs tells whether a segment's dictionaries hold a word, or a piece of it.
func packs(t *testing.T, path, word string) (found bool) {
	t.Helper()
	s, err := (&zap.ZapPlugin{}).Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, field := range s.Fields() {
		d, err := s.Dictionary(field)
		if err != nil {
			t.Fatal(err)
		}
		for terms := d.AutomatonIterator(nil, nil, nil); ; {
			e, err := terms.Next()
			if err != nil {
				t.Fatal(err)
			}
			if e == nil {
				break
			}
			found = found || len(e.Term) >= 3 && strings.Contains(word, e.Term)
		}
	}
	return found
}

func TestNoFileHoldsWhoWasDeletedOrRenamed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := congregation(t, dir, 40)
	gone := kvtest.Create(t, s, record.Person, `{"full_name":"Wqxyzkw Souza","email":"wqxyzkw@example.org"}`)
	renamed := kvtest.Create(t, s, record.Person, `{"full_name":"Vywkxqv Souza"}`)
	x := opened(t, s, index.Config{Dir: dir, Sweep: time.Millisecond})
	caughtUp(t, s, x)
	if err := x.Flush(); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "index")
	if !holds(t, copied(t, at), "wqxyzkw") || !holds(t, copied(t, at), "vywkxqv") {
		t.Fatal("the files do not hold what is in the index, so this test sees nothing")
	}
	remove(t, s, gone)
	wantSwept(t, s, x, at, "wqxyzkw")
	rechristen(t, s, renamed, "Quitéria Souza")
	wantSwept(t, s, x, at, "vywkxqv")
	wantFound(t, x, "quiteria", renamed)
	if got := x.Status().Documents; got != 41 {
		t.Errorf("there are %d documents, want 41", got)
	}
}

// wantSwept waits for a sweep and looks for a word in all files.
func wantSwept(t *testing.T, s *kv.Store, x *index.Index, at, word string) {
	t.Helper()
	caughtUp(t, s, x)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := x.Swept(ctx); err != nil {
		t.Errorf("Swept: %v", err)
	}
	if holds(t, copied(t, at), word) {
		t.Errorf("a file still holds %q", word)
	}
}

// released takes out of a store's file what a database holds.
func released(t *testing.T, s *kv.Store, name string) {
	t.Helper()
	if err := s.Laptop.Release(auth.Operator(), name, s.Tables.Commits.Seq()); err != nil {
		t.Fatal(err)
	}
}

// comes waits until an index has a number of documents.
func comes(t *testing.T, x *index.Index, documents int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := x.Come(ctx, documents); err != nil {
		t.Fatalf("the index does not come to %d documents: %v, %+v", documents, err, x.Status())
	}
}

// TestNoFileHoldsWhoWasReleased: a laptop's index forgets people that another store keeps now, though no row of the log says so. A person
// that comes back is found.
func TestNoFileHoldsWhoWasReleased(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := congregation(t, dir, 40)
	kvtest.Create(t, s, record.Church, `{"name":"Igreja Norte"}`)
	kvtest.Create(t, s, record.Event, `{"name":"Culto","start_datetime":"2026-11-22T19:00:00Z","church_id":1}`)
	kvtest.Create(t, s, record.Ticket, `{"event_id":1,"code":"CODE000000000001","holder_name":"Souza Jqzxkvj"}`)
	moves := kvtest.Create(t, s, record.Person, `{"full_name":"Wqxyzkw Souza","church_id":2}`)
	gone := kvtest.Create(t, s, record.Person, `{"full_name":"Vywkxqv Souza","church_id":2}`)
	x := opened(t, s, index.Config{Dir: dir, Sweep: time.Millisecond})
	caughtUp(t, s, x)
	if err := x.Flush(); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "index")
	for _, word := range []string{"wqxyzkw", "vywkxqv", "jqzxkvj"} {
		if !holds(t, copied(t, at), word) {
			t.Fatalf("the files do not hold %q, so this test sees nothing", word)
		}
	}
	before, doc := x.Status().Documents, record.Person.DocID(record.Int(gone))
	back := written(t, s, "church-2", doc)
	if held, err := s.Laptop.Leave(auth.Operator(), []string{record.Person.DocID(record.Int(moves))}, map[string]uint64{"church-2": s.Tables.Commits.Seq()}); held || err != nil {
		t.Fatalf("Leave = %v, %v", held, err)
	}
	comes(t, x, before-1)
	wantSwept(t, s, x, at, "wqxyzkw")
	released(t, s, "event-1-names")
	comes(t, x, before-2)
	wantSwept(t, s, x, at, "jqzxkvj")
	released(t, s, "church-2")
	comes(t, x, before-3)
	wantSwept(t, s, x, at, "vywkxqv")

	db, err := s.Docs.Database(auth.Operator(), "church-2")
	if err != nil {
		t.Fatal(err)
	}
	if results, err := db.Write([]merge.DocWrite{back}); err != nil || results[0].Err != nil {
		t.Fatalf("Write = %+v, %v", results, err)
	}
	caughtUp(t, s, x)
	wantFound(t, x, "vywkxqv", gone)
}

// written is a document as another store would push it.
func written(t *testing.T, s *kv.Store, name, doc string) merge.DocWrite {
	t.Helper()
	db, err := s.Docs.Database(auth.Operator(), name)
	if err != nil {
		t.Fatal(err)
	}
	d, err := db.Read(doc, docs.Ask{Leaves: true})
	if err != nil {
		t.Fatal(err)
	}
	return merge.DocWrite{ID: doc, Path: d.Tree.Path(d.Revisions[0].Revision), Body: d.Revisions[0].Body}
}

// TestAnIndexForgetsAtItsOpeningWhoWasReleased: the last process ended in between. Nothing is damaged, so nothing is rebuilt.
func TestAnIndexForgetsAtItsOpeningWhoWasReleased(t *testing.T) {
	t.Parallel()
	dir := built(t)
	s, err := kv.Open(kv.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	kvtest.Create(t, s, record.Church, `{"name":"Igreja Norte"}`)
	kvtest.Create(t, s, record.Person, `{"full_name":"Wqxyzkw Souza","church_id":2}`)
	x := opened(t, s, index.Config{Dir: dir})
	caughtUp(t, s, x)
	if err := x.Flush(); err != nil {
		t.Fatal(err)
	}
	before := x.Status().Documents
	x.Close()
	released(t, s, "church-2")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "index")
	if !holds(t, at, "wqxyzkw") {
		t.Fatal("the files hold nothing of what was released, so this test sees nothing")
	}

	registry := prometheus.NewRegistry()
	s = kvtest.OpenConfig(t, kv.Config{Dir: dir})
	x = opened(t, s, index.Config{Dir: dir, Sweep: time.Millisecond, Registerer: registry})
	caughtUp(t, s, x)
	comes(t, x, before-1)
	wantSwept(t, s, x, at, "wqxyzkw")
	if n := kvtest.Metric(t, registry, "doorward_index_rebuilds_total"); n != 0 {
		t.Errorf("the index was rebuilt %v times, want never", n)
	}
}

// TestAnIndexForgetsOnceThereIsRoom: nothing is written while the disk is nearly full. Records released in that time leave the index later.
func TestAnIndexForgetsOnceThereIsRoom(t *testing.T) {
	t.Parallel()
	s, x, registry, left := onDisk(t)
	before := x.Status().Documents
	left.Store(1<<30 - 1)
	kvtest.Create(t, s, record.Person, `{"full_name":"Rita Tardia"}`)
	pausedIs(t, registry, 1)
	released(t, s, "church-1")
	for range 2 {
		comes(t, x, before) // so many there are after each of its chores
	}
	left.Store(1 << 30)
	comes(t, x, 1)
	wantFound(t, x, "souza")
}

// TestWhatIsReleasedIsSweptAtOnce: whatever time other deletions are given. An event that a laptop has dropped must not be read out of its
// folder.
func TestWhatIsReleasedIsSweptAtOnce(t *testing.T) {
	t.Parallel()
	dir := built(t)
	s := kvtest.OpenConfig(t, kv.Config{Dir: dir})
	kvtest.Create(t, s, record.Church, `{"name":"Igreja Norte"}`)
	kvtest.Create(t, s, record.Event, `{"name":"Culto","start_datetime":"2026-11-22T19:00:00Z","church_id":1}`)
	kvtest.Create(t, s, record.Ticket, `{"event_id":1,"code":"CODE000000000001","holder_name":"Souza Jqzxkvj"}`)
	moves := kvtest.Create(t, s, record.Person, `{"full_name":"Wqxyzkw Souza","church_id":2}`)
	x := opened(t, s, index.Config{Dir: dir, Sweep: time.Hour})
	caughtUp(t, s, x)
	if err := x.Flush(); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "index")
	release := map[string]func() error{
		"wqxyzkw": func() error {
			_, err := s.Laptop.Leave(auth.Operator(), []string{record.Person.DocID(record.Int(moves))}, map[string]uint64{"church-2": s.Tables.Commits.Seq()})
			return err
		},
		"jqzxkvj": func() error { return s.Laptop.Release(auth.Operator(), "event-1-names", s.Tables.Commits.Seq()) },
	}
	for word, release := range release {
		if !holds(t, copied(t, at), word) {
			t.Fatalf("the files do not hold %q, so this test sees nothing", word)
		}
		before := x.Status().Documents
		if err := release(); err != nil {
			t.Fatal(err)
		}
		comes(t, x, before-1)
		wantSwept(t, s, x, at, word)
	}
}
