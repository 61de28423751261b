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

	zap "github.com/blevesearch/zapx/v17"

	"doorward/index"
	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
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
