package kv_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// chain are revisions newest first, 3-c 2-b 1-a of "cba".
func chain(letters string) (path []rev.ID) {
	for i, c := range []byte(letters) {
		path = append(path, rev.ID{Generation: uint64(len(letters) - i), Hash: [16]byte{c}})
	}
	return path
}

// received writes a replicated revision.
func received(t testing.TB, s *kv.Store, id string, path []rev.ID, deleted bool) {
	t.Helper()
	if r := writeFree(t, s, merge.DocWrite{ID: id, Path: path, Deleted: deleted}); r.Err != nil || r.Revision != path[0] {
		t.Fatalf("receive %v = %+v", path, r)
	}
}

func TestReadingTheRevisionsOfADocument(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	received(t, s, "doc", chain("ba"), false)
	received(t, s, "doc", chain("ca"), false)
	received(t, s, "doc", chain("zya"), true)
	b, c, z, y, a := chain("ba")[0], chain("ca")[0], chain("zya")[0], chain("zya")[1], chain("a")[0]
	other := chain("q")[0]
	for _, row := range []struct {
		name string
		ask  docs.Ask
		want []rev.ID
	}{
		{"the winner", docs.Ask{}, []rev.ID{c}},
		{"all leaves", docs.Ask{Leaves: true}, []rev.ID{c, b, z}},
		{"some", docs.Ask{Revisions: []rev.ID{b, a, other, b}}, []rev.ID{b, a, other}},
		{"the latest of a leaf", docs.Ask{Revisions: []rev.ID{b}, Latest: true}, []rev.ID{b}},
		{"the latest of one with a child", docs.Ask{Revisions: []rev.ID{y, other}, Latest: true}, []rev.ID{z, other}},
		{"the latest of the root", docs.Ask{Revisions: []rev.ID{a, b}, Latest: true}, []rev.ID{c, b, z}},
		{"none", docs.Ask{Revisions: []rev.ID{}}, nil},
	} {
		doc, err := of(s).Read("doc", row.ask)
		got := []rev.ID(nil)
		for _, r := range doc.Revisions {
			got = append(got, r.Revision)
			if held := r.Revision == b || r.Revision == c || r.Revision == z; held != (r.Body != nil) || r.Deleted != (r.Revision == z) {
				t.Errorf("%s: %+v", row.name, r)
			}
		}
		if err != nil || !slices.Equal(got, row.want) {
			t.Errorf("Read of %s = %v, %v, want %v", row.name, got, err, row.want)
		}
	}
	for _, id := range []string{"", "none", "_local/x"} {
		if _, err := of(s).Read(id, docs.Ask{}); !errors.Is(err, table.ErrNotFound) {
			t.Errorf("Read(%q) = %v", id, err)
		}
	}
}

func TestTheFeedOfSomeDocuments(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	for i := range 6 {
		noted(t, s, fmt.Sprint(i%4), fmt.Sprintf(`{"n":%d}`, i)) // the order is then 2 3 0 1
	}
	for _, row := range []struct {
		feed docs.Feed
		want string
	}{
		{docs.Feed{Limit: 9}, "2@3 3@4 0@5 1@6"},
		{docs.Feed{Limit: 9, Since: 4}, "0@5 1@6"},
		{docs.Feed{Limit: 9, Since: 1 << 63}, ""},
		{docs.Feed{Limit: 9, Since: 1<<64 - 1}, ""},
		{docs.Feed{Limit: 0}, ""},
		{docs.Feed{Limit: 9, Descending: true, Since: 4}, "1@6 0@5"},
		{docs.Feed{Limit: 2, Descending: true, Before: 6}, "0@5 3@4"},
		{docs.Feed{Limit: 9, IDs: []string{"1", "none", "3", "1"}}, "3@4 1@6"},
		{docs.Feed{Limit: 1, IDs: []string{"1", "3"}}, "3@4"},
		{docs.Feed{Limit: 9, IDs: []string{"1", "3"}, Since: 4}, "1@6"},
		{docs.Feed{Limit: 9, IDs: []string{"1", "3", "0"}, Descending: true, Before: 6}, "0@5 3@4"},
		{docs.Feed{Limit: 9, IDs: []string{}}, ""},
	} {
		page, _, err := of(s).Changes(row.feed)
		got := []string{}
		for _, c := range page {
			got = append(got, c.ID+"@"+strconv.FormatUint(c.Seq, 10))
		}
		if err != nil || strings.Join(got, " ") != row.want {
			t.Errorf("Changes(%+v) = %v, %v, want %s", row.feed, got, err, row.want)
		}
	}
}

// TestABodyHasOneForm writes one drawn body twice, its members in two orders and its texts in two spellings.
func TestABodyHasOneForm(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		one, other := drawnBody(r, 3, true)
		first := writeFree(r, s, merge.DocWrite{ID: fmt.Sprint("one", n), Body: []byte(one)})
		second := writeFree(r, s, merge.DocWrite{ID: fmt.Sprint("other", n), Body: []byte(other)})
		if first.Err != nil || second != first {
			r.Fatalf("%s = %+v, %s = %+v", one, first, other, second)
		}
		doc, err := of(s).Read(fmt.Sprint("one", n), docs.Ask{})
		if err != nil {
			r.Fatal(err)
		}
		again := writeFree(r, s, merge.DocWrite{ID: fmt.Sprint("again", n), Body: doc.Revisions[0].Body})
		if again != first {
			r.Fatalf("the body as it is read, %s = %+v, want %+v", doc.Revisions[0].Body, again, first)
		}
	})
	healthy(t, s)
}

// drawnBody is a value in two spellings.
func drawnBody(t *rapid.T, depth int, object bool) (one, other string) {
	kind := 3
	if !object {
		kind = rapid.IntRange(0, 3).Draw(t, "kind")
	}
	if depth == 0 {
		kind = min(kind, 1)
	}
	switch kind {
	case 0:
		v := rapid.SampledFrom([]string{"1.0", "1e5", "-0", "12345678901234567890123", "true", "null"}).Draw(t, "scalar")
		return v, v
	case 1:
		return drawnSpelling(t)
	case 2:
		a, b := drawnBody(t, depth-1, false)
		c, d := drawnBody(t, depth-1, false)
		return "[" + a + "," + c + "]", "[ " + b + " ,\n" + d + "]"
	}
	var members, others []string
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "\\ufffd", "\U0001f600", "é", "A", ""}), rapid.ID[string]).Draw(t, "names") {
		a, b := drawnBody(t, depth-1, false)
		members, others = append(members, `"`+name+`":`+a), append(others, ` "`+name+`" : `+b)
	}
	rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0)).Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	return "{" + strings.Join(members, ",") + "}", "{" + strings.Join(others, ",") + "}"
}

func drawnSpelling(t *rapid.T) (one, other string) {
	for _, c := range rapid.SliceOfN(rapid.SampledFrom([]rune{'a', '/', 'ã', '<', 0x2028}), 0, 4).Draw(t, "text") {
		one, other = one+string(c), other+fmt.Sprintf(`\u%04x`, c)
	}
	return `"` + one + `"`, `"` + other + `"`
}

func TestManyWriteOneDatabase(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 30 {
				b, err := of(s).PutBlob(iotest.HalfReader(strings.NewReader(randomText(i * 1000))))
				if err != nil {
					t.Error(err)
					return
				}
				writes := []merge.DocWrite{
					{ID: fmt.Sprint("own", w), Path: chain(strings.Repeat("x", i) + string(rune('a'+w)))[:1], Attachments: []merge.Attachment{{Name: "a", Blob: b}}},
					{ID: "shared", Body: fmt.Appendf(nil, `{"by":%d}`, w)},
				}
				if _, err := of(s).Write(writes); err != nil {
					t.Error(err)
				}
				if _, _, err := of(s).Changes(docs.Feed{Limit: 10}); err != nil {
					t.Error(err)
				}
				if _, err := of(s).Read("shared", docs.Ask{Leaves: true}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 5 {
		healthy(t, s)
	}
	all.Wait()
	healthy(t, s)
	if db, err := of(s).Info(); err != nil || db.Docs != 5 {
		t.Errorf("Info = %+v, %v, want 5 documents", db, err)
	}
}

// replacing puts another database under the name while an upload goes on.
type replacing struct {
	t    *testing.T
	s    *kv.Store
	left int
}

func (r *replacing) Read(p []byte) (int, error) {
	if r.left--; r.left == 0 {
		if err := r.s.Docs.DeleteDatabase(auth.Operator(), "notes"); err != nil {
			r.t.Error(err)
		}
		newNotes(r.t, r.s)
	}
	return len(p), nil
}

func TestAnUploadDoesNotGoOnInAnotherDatabase(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	if _, err := of(s).PutBlob(&replacing{t, s, 3}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("PutBlob = %v", err)
	}
	if r, err := s.Files.Verify(auth.Operator(), nil); err != nil || r.Damaged != 0 || r.Rows > 10 {
		t.Errorf("Verify = %+v, %v, want nothing of it", r, err)
	}
}
