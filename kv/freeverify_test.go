package kv_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// The numbers of the buckets (kv/table/file.go), which are in every checksum.
var freeNumbers = map[string]byte{"free": 7, "free_doc": 8, "free_body": 9, "free_log": 10, "free_local": 11, "free_blob": 12, "free_chunk": 13, "free_ref": 14, "free_loose": 15}

// rewritten changes the last row of a bucket and gives it a good checksum.
func rewritten(bucket string, change func(value []byte) []byte) func(*bbolt.Tx) error {
	return func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		key, value := b.Cursor().Last()
		if key == nil {
			return fmt.Errorf("bucket %s is empty", bucket)
		}
		key = bytes.Clone(key)
		return b.Put(key, sealed(freeNumbers[bucket], key, change(bytes.Clone(value[:len(value)-4]))))
	}
}

// emptied deletes the last row of a bucket.
func emptied(bucket string) func(*bbolt.Tx) error {
	return func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		key, _ := b.Cursor().Last()
		if key == nil {
			return fmt.Errorf("bucket %s is empty", bucket)
		}
		return b.Delete(bytes.Clone(key))
	}
}

func bitTurned(at int) func([]byte) []byte {
	return func(value []byte) []byte {
		if at < 0 {
			at += len(value)
		}
		value[at] ^= 1
		return value
	}
}

func TestVerifyNamesWhatIsWrongWithAFreeDatabase(t *testing.T) {
	t.Parallel()
	for _, c := range []harm{
		{"a document is not counted", "counts its documents wrongly", rewritten("free", func(row []byte) []byte { row[len(row)-3]++; return row })},
		{"a deleted document is not counted", "counts its documents wrongly", rewritten("free", func(row []byte) []byte { row[len(row)-2]++; return row })},
		{"a database's sequence is another", "counts its documents wrongly", rewritten("free", bitTurned(-1))},
		{"a database's row is cut short", "bucket free:", rewritten("free", func(row []byte) []byte { return row[:len(row)-1] })},
		{"a document says that it is deleted", "not what its tree says", rewritten("free_doc", bitTurned(8))},
		{"a document's tree is none", "bucket free_doc:", rewritten("free_doc", bitTurned(9))},
		{"a document is missing", "not its document's latest change", emptied("free_doc")},
		{"a document without a row in the log", "no row in the log", emptied("free_log")},
		{"a row of the log names another document", "not its document's latest change", rewritten("free_log", bitTurned(0))},
		{"a body is missing", "lacks the body", emptied("free_body")},
		{"a body of no document", "is no document's", func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte("free_body"))
			key, value := b.Cursor().Last()
			key = bytes.Clone(key)
			key[len(key)-1] ^= 1
			return b.Put(key, sealed(9, key, value[:len(value)-4]))
		}},
		{"a body is not canonical", "not canonical", rewritten("free_body", func(row []byte) []byte { return append(row, ' ') })},
		{"a blob is missing", "has no blob", emptied("free_blob")},
		{"a blob's length is another", "not what its blob says", rewritten("free_blob", bitTurned(1))},
		{"a chunk is missing", "not what its blob says", emptied("free_chunk")},
		{"a chunk is another", "not what its blob says", rewritten("free_chunk", bitTurned(0))},
		{"an attachment is not noted", "is not noted", emptied("free_ref")},
		{"an attachment is noted where there is none", "does not have it", func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte("free_ref"))
			key, _ := b.Cursor().Last()
			key = bytes.Clone(key)
			key[5] ^= 1
			return b.Put(key, sealed(14, key, nil))
		}},
		{"a local document's bit is turned", "bucket free_local: a value fails", func(tx *bbolt.Tx) error { return flipWhere(tx, "free_local") }},
		{"a loose blob's bit is turned", "bucket free_loose: a value fails", func(tx *bbolt.Tx) error { return flipWhere(tx, "free_loose") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t)
			s := reopenable(t, table.Config{Dir: dir})
			newNotes(t, s)
			blob := stored(t, s, "content of the attachment")
			if r := writeFree(t, s, merge.DocWrite{ID: "LULU", Deleted: true}); r.Err != nil {
				t.Fatal(r.Err)
			}
			named := merge.DocWrite{ID: "zLULU", Path: []rev.ID{{Generation: 1, Text: "of Ana"}}, Body: []byte(`{"who":"Ana"}`), Attachments: []merge.Attachment{{Name: "Ana", Blob: blob}}}
			if r := writeFree(t, s, named); r.Err != nil {
				t.Fatal(r.Err)
			}
			if _, err := of(s).PutLocal("LULU", []byte(`{"who":"Ana"}`), docs.Whatever); err != nil {
				t.Fatal(err)
			}
			c.wantFound(t, s, dir, "Ana", "LULU", "notes")
		})
	}
}

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
			for _, id := range page {
				ids = append(ids, id)
				r.From, r.Past = id, true
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
