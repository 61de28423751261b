package kv_test

import (
	"maps"
	"slices"

	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/kv/rev"
)

// check compares all that can be read with the model.
func (m *freeModel) check(t *rapid.T, s *kv.Store) {
	db, err := of(s).Info()
	gone := 0
	for id := range m.docs {
		if m.deleted(id) {
			gone++
		}
	}
	if err != nil || db.Docs != len(m.docs)-gone || db.Deleted != gone {
		t.Fatalf("Info = %+v, %v, want %d documents, %d of them deleted", db, err, len(m.docs), gone)
	}
	m.checkFeed(t, s, db.Seq)
	m.checkList(t, s)
	for id := range m.docs {
		m.checkDoc(t, s, id)
	}
}

func (m *freeModel) checkFeed(t *rapid.T, s *kv.Store, last uint64) {
	limit := rapid.IntRange(1, 4).Draw(t, "limit")
	for _, down := range []bool{false, true} {
		var ids []string
		f := docs.Feed{Limit: limit, Descending: down}
		for {
			page, _, err := of(s).Changes(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range page {
				if c.Deleted != m.deleted(c.ID) || c.Leaves[0].Revision != m.leaves(c.ID)[0] || c.Seq > last {
					t.Fatalf("change %+v of a database at %d, want leaves %v", c, last, m.leaves(c.ID))
				}
				ids = append(ids, c.ID)
				f.Since, f.Before = c.Seq, 0
				if down {
					f.Since, f.Before = 0, c.Seq
				}
			}
			if len(page) < limit {
				break
			}
		}
		if down {
			slices.Reverse(ids)
		}
		if !slices.Equal(ids, m.order) {
			t.Fatalf("feed (down %v) = %v, want %v", down, ids, m.order)
		}
	}
}

func (m *freeModel) checkList(t *rapid.T, s *kv.Store) {
	var want []string
	for _, id := range slices.Sorted(maps.Keys(m.docs)) {
		if !m.deleted(id) {
			want = append(want, id)
		}
	}
	for _, down := range []bool{false, true} {
		var ids []string
		r := docs.Range{Limit: 2, Descending: down}
		for {
			page, err := of(s).List(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range page {
				ids = append(ids, row.ID)
				r.From, r.Past = row.ID, true
			}
			if len(page) < r.Limit {
				break
			}
		}
		if down {
			slices.Reverse(ids)
		}
		if !slices.Equal(ids, want) {
			t.Fatalf("list (down %v) = %v, want %v", down, ids, want)
		}
	}
}

func (m *freeModel) checkDoc(t *rapid.T, s *kv.Store, id string) {
	leaves := m.leaves(id)
	asked := slices.Collect(maps.Keys(m.docs[id]))
	all, err := of(s).Read(id, docs.Ask{Revisions: asked})
	if err != nil || len(all.Revisions) != len(asked) || all.Deleted != m.deleted(id) {
		t.Fatalf("Read(%s) = %+v, %v", id, all, err)
	}
	for _, r := range all.Revisions {
		if n := m.docs[id][r.Revision]; string(r.Body) != n.body || r.Deleted != n.deleted {
			t.Fatalf("Read(%s, %s) = %s, want %s", id, r.Revision, r.Body, n.body)
		}
		if path := all.Tree.Path(r.Revision); !slices.Equal(path, m.path(id, r.Revision)) {
			t.Fatalf("path of %s, %s = %v, want %v", id, r.Revision, path, m.path(id, r.Revision))
		}
	}
	winner, err := of(s).Read(id, docs.Ask{})
	if err != nil || len(winner.Revisions) != 1 || winner.Revisions[0].Revision != leaves[0] {
		t.Fatalf("winner of %s = %+v, %v, want %s", id, winner, err, leaves[0])
	}
	open, err := of(s).Read(id, docs.Ask{Leaves: true})
	if err != nil || !slices.EqualFunc(open.Revisions, leaves, func(r docs.DocRevision, l rev.ID) bool { return r.Revision == l }) {
		t.Fatalf("leaves of %s = %+v, %v, want %v", id, open, err, leaves)
	}
	revision := m.any(t, id)
	missing, err := of(s).Missing([]merge.Revs{{ID: id, Revisions: []rev.ID{revision}}})
	if known := m.docs[id][revision] != nil; err != nil || len(missing) != 1 || known == (len(missing[0].Missing) == 1) {
		t.Fatalf("Missing(%s, %s) = %+v, %v, known %v", id, revision, missing, err, known)
	}
}
