package kv_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// freeModel is a database as sync.md speaks of it: all that was ever written, and when each document changed last.
type freeModel struct {
	docs  map[string]map[rev.ID]*freeNode
	order []string // of the latest changes, the oldest first
	drawn uint64
}

type freeNode struct {
	parent  rev.ID
	deleted bool
	body    string // "" of what only a path named, and of what is not kept
}

// leaves are a document's revisions without a child, the winner first.
func (m *freeModel) leaves(id string) (leaves []rev.ID) {
	inner := map[rev.ID]bool{}
	for _, n := range m.docs[id] {
		inner[n.parent] = true
	}
	for rev := range m.docs[id] {
		if !inner[rev] {
			leaves = append(leaves, rev)
		}
	}
	slices.SortFunc(leaves, func(a, b rev.ID) int {
		if x, y := m.docs[id][a].deleted, m.docs[id][b].deleted; x != y {
			if x {
				return 1
			}
			return -1
		}
		return b.Compare(a)
	})
	return leaves
}

func (m *freeModel) deleted(id string) bool { return m.docs[id][m.leaves(id)[0]].deleted }

// grow adds a path, and forgets the bodies that are neither leaves' nor among the ten last revisions'.
func (m *freeModel) grow(id string, path []rev.ID, deleted bool, body string) {
	if m.docs[id] == nil {
		m.docs[id] = map[rev.ID]*freeNode{}
	}
	for i, rev := range path {
		n := &freeNode{}
		if i+1 < len(path) {
			n.parent = path[i+1]
		}
		if m.docs[id][rev] == nil {
			m.docs[id][rev] = n
		}
	}
	*m.docs[id][path[0]] = freeNode{parent: m.docs[id][path[0]].parent, deleted: deleted, body: body}
	all := slices.SortedFunc(maps.Keys(m.docs[id]), rev.ID.Compare)
	for _, rev := range all[:max(0, len(all)-10)] {
		if !slices.Contains(m.leaves(id), rev) {
			m.docs[id][rev].body = ""
		}
	}
	m.order = append(slices.DeleteFunc(m.order, func(other string) bool { return other == id }), id)
}

// path is a revision and those before it.
func (m *freeModel) path(id string, rev rev.ID) (path []rev.ID) {
	for n := m.docs[id][rev]; n != nil; n = m.docs[id][rev] {
		path, rev = append(path, rev), n.parent
	}
	return path
}

// any draws a revision of a document, or one that it does not have.
func (m *freeModel) any(t *rapid.T, id string) rev.ID {
	known := slices.SortedFunc(maps.Keys(m.docs[id]), rev.ID.Compare)
	return rapid.SampledFrom(append(known, rev.ID{}, m.fresh(t, rapid.Uint64Range(1, 3).Draw(t, "generation")))).Draw(t, "revision")
}

// fresh is a revision that nobody has seen, of a drawn hash: which branch wins is not the order of the writes.
func (m *freeModel) fresh(t *rapid.T, generation uint64) rev.ID {
	m.drawn++
	r := rev.ID{Generation: generation}
	if rapid.IntRange(0, 3).Draw(t, "text") == 0 {
		r.Text = rapid.SampledFrom([]string{"a", "B", "\"é\" "}).Draw(t, "begin") + strconv.FormatUint(m.drawn, 10)
		return r
	}
	r.Hash[0] = rapid.Byte().Draw(t, "hash")
	binary.BigEndian.PutUint64(r.Hash[8:], m.drawn)
	return r
}

// edit writes as an editor does, onto a leaf or wrongly.
func (m *freeModel) edit(t *rapid.T, s *kv.Store, id string) {
	leaves := m.leaves(id)
	parent := m.any(t, id)
	if len(leaves) > 0 && rapid.IntRange(0, 3).Draw(t, "right") > 0 {
		parent = leaves[rapid.IntRange(0, len(leaves)-1).Draw(t, "leaf")]
	}
	deleted := rapid.IntRange(0, 3).Draw(t, "delete") == 0
	m.drawn++
	body := fmt.Sprintf(`{"b":%d,"a":{"y":[1.0,{"d":null,"c":"\u0041"}],"x":true}}`, m.drawn)
	canonical := fmt.Sprintf(`{"a":{"x":true,"y":[1.0,{"c":"A","d":null}]},"b":%d}`, m.drawn)
	base := parent
	if parent == (rev.ID{}) && len(leaves) > 0 && m.deleted(id) && !deleted {
		base = leaves[0]
	}
	fits := slices.Contains(leaves, base) || base == rev.ID{} && len(leaves) == 0
	r := writeFree(t, s, merge.DocWrite{ID: id, Parent: parent, Deleted: deleted, Body: []byte(body)})
	if !fits {
		if !errors.Is(r.Err, table.ErrConflict) {
			t.Fatalf("edit of %s in %s = %v, %v, want a conflict", parent, id, r.Revision, r.Err)
		}
		return
	}
	if want := rev.Next(base, deleted, []byte(canonical)); r.Err != nil || r.Revision != want {
		t.Fatalf("edit of %s in %s = %v, %v, want %s", parent, id, r.Revision, r.Err, want)
	}
	m.grow(id, append([]rev.ID{r.Revision}, m.path(id, base)...), deleted, canonical)
}

// receive writes as a replicator does: a branch of some revisions, a new root, or what is known already.
func (m *freeModel) receive(t *rapid.T, s *kv.Store, id string) {
	path := m.path(id, m.any(t, id))
	for range rapid.IntRange(0, 3).Draw(t, "more") {
		generation := uint64(1)
		if len(path) > 0 {
			generation = path[0].Generation + 1
		}
		path = append([]rev.ID{m.fresh(t, generation)}, path...)
	}
	if len(path) == 0 {
		return
	}
	known := m.docs[id][path[0]] != nil
	path = path[:rapid.IntRange(1, len(path)).Draw(t, "depth")]
	deleted := rapid.IntRange(0, 3).Draw(t, "delete") == 0
	m.drawn++
	body := fmt.Sprintf(`{"received":%d}`, m.drawn)
	if r := writeFree(t, s, merge.DocWrite{ID: id, Path: path, Deleted: deleted, Body: []byte(body)}); r.Err != nil || r.Revision != path[0] {
		t.Fatalf("receive %v of %s = %+v", path, id, r)
	}
	if !known {
		m.grow(id, path, deleted, body)
	}
}

// compact drops the bodies of what is no leaf.
func (m *freeModel) compact(t *rapid.T, s *kv.Store) {
	if err := of(s).Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	for id, revs := range m.docs {
		leaves := m.leaves(id)
		for rev, n := range revs {
			if !slices.Contains(leaves, rev) {
				n.body = ""
			}
		}
	}
}

func writeFree(t rapid.TB, s *kv.Store, w merge.DocWrite) docs.DocResult {
	t.Helper()
	results, err := of(s).Write([]merge.DocWrite{w})
	if err != nil {
		t.Fatal(err)
	}
	return results[0]
}

func TestAFreeDatabaseIsWhatWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		dir := t.TempDir()
		s := reopenable(t, kv.Config{Dir: dir})
		defer func() { closed(t, s) }()
		if err := s.Docs.CreateDatabase(auth.Operator(), "notes"); err != nil {
			r.Fatal(err)
		}
		m := &freeModel{docs: map[string]map[rev.ID]*freeNode{}}
		for range rapid.IntRange(1, 60).Draw(r, "steps") {
			id := rapid.SampledFrom([]string{"a", "b", "b\u00e3", "_design/x"}).Draw(r, "id")
			switch rapid.IntRange(0, 12).Draw(r, "step") {
			case 0:
				closed(t, s)
				s = reopenable(t, kv.Config{Dir: dir})
			case 12:
				m.compact(r, s)
			case 1:
				m.check(r, s)
			case 2, 3, 4:
				m.receive(r, s, id)
			default:
				m.edit(r, s, id)
			}
		}
		m.check(r, s)
		healthy(t, s)
	})
}

func TestTheBodiesOfOldRevisionsGo(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	var revs []rev.ID
	parent := rev.ID{}
	for i := range table.RevsLimit + 10 {
		r := writeFree(t, s, merge.DocWrite{ID: "a", Parent: parent, Body: fmt.Appendf(nil, `{"n":%d}`, i)})
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		parent = r.Revision
		revs = append(revs, parent)
	}
	doc, err := of(s).Read("a", docs.Ask{Revisions: revs})
	if err != nil || doc.Tree.Len() != table.RevsLimit {
		t.Fatalf("Read = a tree of %d, %v, want %d", doc.Tree.Len(), err, table.RevsLimit)
	}
	for i, r := range doc.Revisions {
		want := fmt.Appendf(nil, `{"n":%d}`, i)
		if i < len(revs)-10 {
			want = nil
		}
		if !bytes.Equal(r.Body, want) {
			t.Errorf("body of %s = %s, want %s", r.Revision, r.Body, want)
		}
	}
	received(t, s, "b", chain("a"), false)
	received(t, s, "b", chain(strings.Repeat("x", table.RevsLimit)+"a"), false)
	if doc, err = of(s).Read("b", docs.Ask{Revisions: chain("a")}); err != nil || doc.Revisions[0].Body != nil {
		t.Errorf("Read of a revision that is forgotten = %+v, %v", doc.Revisions, err)
	}
	healthy(t, s)
}
